package field

import "testing"

func TestOnlyWhatIsSeenAsItIsIsPrintedAsItIs(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "web": "web", "żółw 日本 \"'`<&\\": "żółw 日本 \"'`<&\\", "\n": `\n`, "a\x1b[31mb\x00": `a\x1b[31mb\x00`, "\xff\xfea": `\xff\xfea`, "a\u202eb": `a\u202eb`, "\ufffd": "\ufffd", "\u00a0": `\u00a0`,
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q is printed as %q, want %q", in, got, want)
		}
	}
}

func TestCommandsAreEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "a", "##vso[x]": `#\x23vso[x]`, "a ##[error]b ###[c] ## [": `a #\x23[error]b ##\x23[c] ## [`, "##teamcity[": `#\x23teamcity[`,
		"# [a] #[b] ##": "# [a] #[b] ##", "::error::x\n  ::add-mask::y\na ::b::": "\\x3a:error::x\n  \\x3a:add-mask::y\na ::b::", ":: x": ":: x",
	} {
		if got := WithoutCommands(in, EscapedSign); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
