// A worker that runs the program once for each command line, each time in a fresh memory. The page ends the worker to stop a run.
"use strict";

importScripts("wasm_exec.js");

// fileSystem returns what Go's wasm_exec.js asks for files: one with stdin and files, which keeps what is written to stdout and stderr. A name that is not there is
// what the program makes of a file that does not exist.
function fileSystem(stdin, files) {
  const utf8 = new TextEncoder();
  const open = new Map([[0, { text: utf8.encode(stdin), at: 0 }], [1, []], [2, []]]);
  const fail = (code) => Object.assign(new Error(code), { code });
  const refuse = (...args) => args.at(-1)(fail("ENOSYS"));
  const status = (size, directory) => ({
    dev: 0, ino: 0, mode: directory ? 0o040755 : 0o100644, nlink: 1, uid: 0, gid: 0, rdev: 0, size, blksize: 4096, blocks: 0,
    atimeMs: 0, mtimeMs: 0, ctimeMs: 0, isDirectory: () => directory,
  });
  const stat = (path, done) => {
    if (path === "/" || path === ".") done(null, status(0, true));
    else if (path in files) done(null, status(utf8.encode(files[path]).length, false));
    else done(fail("ENOENT"));
  };
  const writeSync = (fd, bytes) => {
    open.get(fd).push(bytes.slice());
    return bytes.length;
  };
  const written = (fd) => new Blob(open.get(fd)).text();
  const refused = {};
  for (const name of ["chmod", "chown", "fchmod", "fchown", "fsync", "ftruncate", "lchown", "link", "mkdir", "readlink", "rename",
    "rmdir", "symlink", "truncate", "unlink", "utimes"]) refused[name] = refuse;
  return {
    ...refused, stat, lstat: stat, writeSync, written,
    constants: { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 },
    open(path, flags, mode, done) {
      if (!(path in files)) return done(fail("ENOENT"));
      const fd = 3 + open.size;
      open.set(fd, { text: utf8.encode(files[path]), at: 0 });
      done(null, fd);
    },
    close: (fd, done) => done(null),
    fstat: (fd, done) => done(null, status(open.get(fd).text?.length ?? 0, false)),
    readdir: (path, done) => done(null, []),
    read(fd, bytes, offset, length, position, done) {
      const file = open.get(fd);
      const part = file.text.subarray(file.at, file.at + length);
      bytes.set(part, offset);
      file.at += part.length;
      done(null, part.length);
    },
    write(fd, bytes, offset, length, position, done) {
      done(null, writeSync(fd, bytes.subarray(offset, offset + length)));
    },
  };
}

onmessage = async ({ data: { program, stdin, files, runs } }) => {
  try {
    for (const [name, args] of Object.entries(runs)) {
      globalThis.fs = fileSystem(stdin, files);
      globalThis.process.cwd = () => "/";
      const go = new Go();
      go.argv = ["rewrite-probes", ...args];
      let code = 2; // a panic of Go
      go.exit = (c) => { code = c; };
      await go.run(await WebAssembly.instantiate(program, go.importObject));
      postMessage({ name, code, stdout: await globalThis.fs.written(1), stderr: await globalThis.fs.written(2) });
    }
    postMessage({ ended: true });
  } catch (e) {
    postMessage({ failed: String(e) });
  }
};
