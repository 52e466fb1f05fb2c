/**
 * `npm run release -- --dry-run` makes all artefacts of a release from the committed files: the npm package, the Debian packages,
 * the bill of materials, and the sums of all. Everything is made twice, the second time in another time zone and with another umask, and
 * a difference of one octet is an error; with `--once` it is made only once.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { publint } from 'publint';
import { billOfMaterials } from './bill-of-materials.js';
import { makeDebianPackage } from './debian-package.js';
import { run } from './programs.js';

const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    out: { type: 'string', default: 'data/release' },
    architectures: { type: 'string', default: 'x64,arm64' },
    once: { type: 'boolean', default: false },
  },
});

if (!values['dry-run']) {
  console.error('Only --dry-run is supported. The workflow .github/workflows/release.yml publishes releases.');
  process.exit(2);
}

const out = resolve(values.out);
/** Everything that a release leaves in a directory, which is emptied first. */
const MADE = /^(zoneplane[-_].*|SHA256SUMS)$/;
const alien = existsSync(out) ? readdirSync(out).find((name) => !MADE.test(name)) : undefined;
if (alien !== undefined)
  throw new Error(`${out} holds ${alien}, which does not belong to a release: name another directory`);

/** The commit that is released, even if somebody commits meanwhile. */
const commit = run('git', ['rev-parse', 'HEAD']).trim();
const names = await make(out);
if (!values.once) await requireSame(out, names);
const sums = names.map((name) => `${sumOf(join(out, name))}  ${name}\n`);
writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));
for (const name of names)
  console.log(`${(statSync(join(out, name)).size / 1e6).toFixed(1).padStart(6)} MB  ${join(out, name)}`);
if (!values.once) console.log('Made twice: each artefact has the same octets.');

/** Makes all artefacts again elsewhere, as on a machine with other settings. */
async function requireSame(first: string, names: readonly string[]): Promise<void> {
  const second = mkdtempSync(join(tmpdir(), 'zoneplane-again-'));
  try {
    process.umask(0o077);
    process.env['TZ'] = 'Pacific/Auckland';
    const again = await make(second);
    if (again.join() !== names.join()) throw new Error(`${names.join()} were made first, and then ${again.join()}`);
    const different = names.filter((name) => sumOf(join(first, name)) !== sumOf(join(second, name)));
    if (different.length > 0) throw new Error(`made twice, these differ: ${different.join(', ')}`);
  } finally {
    rmSync(second, { recursive: true, force: true });
  }
}

function sumOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** Makes the artefacts in an empty directory and returns their names. */
async function make(out: string): Promise<readonly string[]> {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'zoneplane-release-'));
  try {
    await makeIn(scratch, out);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return readdirSync(out).toSorted();
}

async function makeIn(scratch: string, out: string): Promise<void> {
  // npm packs files with the modes that they have.
  process.umask(0o022);
  const top = run('git', ['rev-parse', '--show-toplevel']).trim();
  const epoch = Number(process.env['SOURCE_DATE_EPOCH'] ?? run('git', ['log', '-1', '--format=%ct', commit]).trim());
  process.env['SOURCE_DATE_EPOCH'] = String(epoch);
  const source = join(scratch, 'source');
  mkdirSync(source);
  run('git', ['archive', '--format=tar', '--output', join(scratch, 'source.tar'), commit], { cwd: top });
  run('tar', ['--extract', '--file', join(scratch, 'source.tar')], { cwd: source });
  symlinkSync(join(top, 'node_modules'), join(source, 'node_modules'));

  const tarball = run('npm', ['pack', '--silent', '--pack-destination', out], { cwd: source })
    .trim()
    .split('\n')
    .at(-1)!;
  run('tar', ['--extract', '--file', join(out, tarball)], { cwd: scratch });
  const program = join(scratch, 'package');
  const { messages } = await publint({ pkgDir: program, pack: false, level: 'warning', strict: true });
  if (messages.length > 0) throw new Error(`publint: ${JSON.stringify(messages)}`);
  const { version } = JSON.parse(readFileSync(join(program, 'package.json'), 'utf8')) as { readonly version: string };

  for (const architecture of values.architectures.split(',')) {
    if (architecture !== 'x64' && architecture !== 'arm64') throw new Error(`unknown architecture ${architecture}`);
    makeDebianPackage({ program, source, version, epoch, architecture, out, scratch });
  }
  writeFileSync(join(out, `zoneplane-${version}.cdx.json`), billOfMaterials(source, epoch));
}
