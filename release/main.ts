/**
 * `npm run release -- --dry-run` makes all artefacts of a release from the committed files: the npm package, the Debian packages,
 * the bill of materials, and the sums of all. Two runs give the same octets.
 */
import { createHash } from 'node:crypto';
import {
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
  },
});

if (!values['dry-run']) {
  console.error('Only --dry-run is supported. The workflow .github/workflows/release.yml publishes releases.');
  process.exit(2);
}

const out = resolve(values.out);
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const scratch = mkdtempSync(join(tmpdir(), 'zoneplane-release-'));
try {
  await make(scratch);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

async function make(scratch: string): Promise<void> {
  const top = run('git', ['rev-parse', '--show-toplevel']).trim();
  const epoch = Number(process.env['SOURCE_DATE_EPOCH'] ?? run('git', ['log', '-1', '--format=%ct']).trim());
  process.env['SOURCE_DATE_EPOCH'] = String(epoch);
  const source = join(scratch, 'source');
  mkdirSync(source);
  run('git', ['archive', '--format=tar', '--output', join(scratch, 'source.tar'), 'HEAD'], { cwd: top });
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
  const names = readdirSync(out).toSorted();
  const sums = names.map(
    (name) =>
      `${createHash('sha256')
        .update(readFileSync(join(out, name)))
        .digest('hex')}  ${name}\n`,
  );
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));
  for (const name of names)
    console.log(`${(statSync(join(out, name)).size / 1e6).toFixed(1).padStart(6)} MB  ${join(out, name)}`);
}
