/** Makes the Debian package: the program, its npm packages, and the Node.js runtime that Debian lacks. Needs no root. */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { fetchNode } from './node-runtime.js';
import { run } from './programs.js';

export interface DebianOptions {
  /** The content of the package for npm. */
  readonly program: string;
  /** The source, with the lock file and the files of `release/deb`. */
  readonly source: string;
  readonly version: string;
  /** As npm calls it. */
  readonly architecture: 'x64' | 'arm64';
  /** The time of the release, seconds since 1970. */
  readonly epoch: number;
  /** Directory for the finished package. */
  readonly out: string;
  /** Directory for temporary files. */
  readonly scratch: string;
}

const HOME = 'usr/lib/zoneplane';
/** Files in npm packages that only developers need. */
const NEEDLESS =
  /(?:\.d\.[cm]?ts|\.map|\.md|\.markdown|\.ts|\.gypi?|\.flow|\.tsbuildinfo|\.cc|\.hh?|\.inc|\.def|\.S|\.sh)$|(?:^|\/)(?:\.[^/]+|tests?|__tests__|examples?|benchmarks?|docs|integration)$/;
/** Files without which a package may not be redistributed. */
const LICENSE = /licen[cs]e|copying|notice/i;

/** Returns the name of the file. */
export function makeDebianPackage(options: DebianOptions): string {
  const { architecture, version, out, scratch, source } = options;
  const debian = architecture === 'x64' ? 'amd64' : 'arm64';
  const root = mkdtempSync(join(scratch, 'deb-'));
  chmodSync(root, 0o755);
  putProgram(root, options);
  putSystemFiles(root, source);
  putDocuments(root, options);
  normalizeModes(root);
  const control = join(root, 'DEBIAN');
  mkdirSync(control);
  const template = (name: string): string => readFileSync(join(source, 'release/deb', name), 'utf8');
  const values = { VERSION: version, ARCHITECTURE: debian, SIZE: String(Math.ceil(octetsBelow(root) / 1024)) };
  const text = template('control').replace(/@(\w+)@/g, (_, name: string) => values[name as keyof typeof values]);
  writeFileSync(join(control, 'control'), text, { mode: 0o644 });
  writeFileSync(join(control, 'conffiles'), '/etc/default/zoneplane\n', { mode: 0o644 });
  writeFileSync(join(control, 'md5sums'), sumsOf(root), { mode: 0o644 });
  for (const script of ['postinst', 'prerm', 'postrm']) {
    writeFileSync(join(control, script), template(script));
    chmodSync(join(control, script), 0o755);
  }
  chmodSync(control, 0o755);
  const name = `zoneplane_${version}_${debian}.deb`;
  // One thread, because the number of threads changes the octets.
  run('dpkg-deb', ['--root-owner-group', '--threads-max=1', '-Zxz', '-z3', '--build', root, join(out, name)]);
  rmSync(root, { recursive: true });
  return name;
}

function putProgram(root: string, { program, source, architecture, scratch }: DebianOptions): void {
  const home = join(root, HOME);
  cpSync(program, home, { recursive: true });
  for (const name of ['package-lock.json', '.npmrc']) cpSync(join(source, name), join(home, name));
  const where = ['--os=linux', `--cpu=${architecture}`, '--libc=glibc'];
  run('npm', ['ci', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', '--no-bin-links', ...where], {
    cwd: home,
  });
  for (const name of [
    'package-lock.json',
    '.npmrc',
    'node_modules/.package-lock.json',
    'docs',
    'build/zoneplane.1',
    'zones',
  ]) {
    rmSync(join(home, name), { recursive: true, force: true });
  }
  for (const name of ['README.md', 'CHANGELOG.md', 'LICENSE']) rmSync(join(home, name));
  prune(join(home, 'node_modules'), architecture);
  const scratchOfNode = mkdtempSync(join(scratch, 'node-'));
  const node = fetchNode(architecture, scratchOfNode);
  cpSync(join(node, 'bin/node'), join(home, 'node'));
  put(root, 'usr/share/doc/zoneplane/LICENSE.node', readFileSync(join(node, 'LICENSE')));
  rmSync(scratchOfNode, { recursive: true });
}

function prune(modules: string, architecture: string): void {
  const binaries = join(modules, 'better-sqlite3/prebuilds');
  for (const name of readdirSync(binaries)) {
    if (name !== `linux-${architecture}.node`) rmSync(join(binaries, name));
  }
  for (const path of ['better-sqlite3/deps', 'better-sqlite3/src', 'koffi/vendor', 'koffi/lib/native']) {
    rmSync(join(modules, path), { recursive: true });
  }
  const koffi = join(modules, '@koromix', `koffi-linux-${architecture}`);
  for (const name of readdirSync(koffi)) if (name.startsWith('musl')) rmSync(join(koffi, name), { recursive: true });
  for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (NEEDLESS.test(entry.name) && !LICENSE.test(entry.name)) rmSync(path, { recursive: true, force: true });
  }
}

function put(root: string, path: string, content: string | Uint8Array, mode = 0o644): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content, { mode });
}

function putSystemFiles(root: string, source: string): void {
  const template = (name: string): string => readFileSync(join(source, 'release/deb', name), 'utf8');
  put(root, 'usr/bin/zoneplane', template('zoneplane'), 0o755);
  put(root, 'etc/default/zoneplane', template('default'));
  const unit = readFileSync(join(source, 'docs/zoneplane.service'), 'utf8')
    .replace(/^#.*Install to.*\n/, '')
    .replace(/^# Runs on the node .*\n/m, '')
    .replace(/^ExecStart=.*$/m, `ExecStart=/${HOME}/node /${HOME}/build/src/main.js serve`)
    .replace('DynamicUser=yes', 'User=zoneplane\nGroup=zoneplane');
  put(root, 'lib/systemd/system/zoneplane.service', unit);
}

function putDocuments(root: string, { program, source, version, epoch }: DebianOptions): void {
  const main = join(root, HOME, 'build/src/main.js');
  const completion = (form: string): string => run(process.execPath, [main, 'completion', form]);
  put(root, 'usr/share/bash-completion/completions/zoneplane', completion('bash'));
  put(root, 'usr/share/zsh/vendor-completions/_zoneplane', completion('zsh'));
  put(root, 'usr/share/fish/vendor_completions.d/zoneplane.fish', completion('fish'));
  const packed = (path: string) => gzipSync(readFileSync(path), { level: 9 });
  put(root, 'usr/share/man/man1/zoneplane.1.gz', packed(join(program, 'build/zoneplane.1')));
  put(root, 'usr/share/doc/zoneplane/changelog.gz', gzipSync(debianChangelog(source, version, epoch), { level: 9 }));
  cpSync(join(program, 'CHANGELOG.md'), join(root, 'usr/share/doc/zoneplane/CHANGELOG.md'));
  cpSync(join(program, 'docs'), join(root, 'usr/share/doc/zoneplane/docs'), { recursive: true });
  cpSync(join(program, 'README.md'), join(root, 'usr/share/doc/zoneplane/README.md'));
  const license = readFileSync(join(program, 'LICENSE'), 'utf8').trim().split('\n');
  const [, holder = ''] = /^Copyright \(c\) (.*)$/m.exec(license.join('\n')) ?? [];
  const words = license.slice(license.indexOf(`Copyright (c) ${holder}`) + 1);
  const indented = words
    .map((line) => ` ${line.trim() === '' ? '.' : line}\n`)
    .join('')
    .replace(/^ \.\n/, '');
  const head = readFileSync(join(source, 'release/deb/copyright'), 'utf8');
  put(root, 'usr/share/doc/zoneplane/copyright', `${head}Copyright: ${holder}\nLicense: Expat\n${indented}`);
  put(root, 'usr/share/lintian/overrides/zoneplane', readFileSync(join(source, 'release/deb/lintian-overrides')));
}

function debianChangelog(source: string, version: string, epoch: number): string {
  const [, maintainer] = /^Maintainer: (.*)$/m.exec(readFileSync(join(source, 'release/deb/control'), 'utf8')) ?? [];
  const date = new Date(epoch * 1000).toUTCString().replace('GMT', '+0000');
  return `zoneplane (${version}) stable; urgency=medium\n\n  * CHANGELOG.md says what is new.\n\n -- ${maintainer}  ${date}\n`;
}

function normalizeModes(directory: string): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      chmodSync(path, 0o755);
      normalizeModes(path);
      if (readdirSync(path).length === 0) rmSync(path, { recursive: true });
    } else chmodSync(path, /\/(?:usr\/bin\/zoneplane|zoneplane\/node)$/.test(path) ? 0o755 : 0o644);
  }
}

const filesBelow = (root: string) =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter((path) => !path.startsWith('DEBIAN/'))
    .toSorted();

const octetsBelow = (root: string): number =>
  filesBelow(root).reduce((sum, path) => sum + statSync(join(root, path)).size, 0);

const sumsOf = (root: string): string =>
  run('md5sum', ['--', ...filesBelow(root).filter((path) => !path.startsWith('etc/'))], { cwd: root });
