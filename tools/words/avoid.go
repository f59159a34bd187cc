package main

import "regexp"

// avoided are words that make a text slow to read, each with the plain one in CONTRIBUTING.md. A
// first group, if it matches, makes the expression right after all, as in "there is no".
var avoided = compile(
	`cures?\b`, `anew\b`, `nobody`, `whatever`, `as long as`, `(there )?(?:is|are|was) no\b`, `in order\b( to)?`,
	`left alone`, `leaves? \w+ alone`, `passed over`, `passes over`, `looked at\b`, `out of the rewriting`, `becomes? of`,
	`would say`, `says? (?:it|so|which|what|that|why|whether|otherwise|of)\b`, `not known`, `is known`, `was known`,
	`(?:(open service)|open[ ,.])`, `(?:leaves?|left)(?: \w+){1,4} to fail`, `that of\b`, `those of\b`, `those that`, `one that\b`, `of its own`, `of their own`, `the like of`,
	`falsely,? pass\w*`, `carr(?:y|ies)`, `heeds?`, `may be that`, `answerer`, `likewise`, `what is\b`, `what was\b`,
	`what it\b`, `what the\b`, `of which`, `in which`, `for which`, `to which`, `speaks? of`, `counts? (?:on|for)`,
	`such a\b`, `in either case`, `in every case`, `in each case`, `all the same`, `otherwise`, `goes? to\b`,
)

func compile(expressions ...string) []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(expressions))
	for i, e := range expressions {
		all[i] = regexp.MustCompile(`(?i)\b` + e)
	}
	return all
}

// avoidedIn returns the avoided words that a sentence has.
func avoidedIn(text string) (found []string) {
	for _, re := range avoided {
		for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
			allowed := len(m) > 2 && m[2] >= 0
			if !allowed {
				found = append(found, text[m[0]:m[1]])
			}
		}
	}
	return found
}
