/** What the packages bring to a system: the service and its exposure, scripts, and the chart's version. Installed: test/by-hand/installations.sh. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';

const run = (program: string, ...args: readonly string[]) => {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  return { status, error, text: stdout + stderr };
};
const isThere = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;

const skip = isThere('systemd-analyze') || process.env['CI'] === 'true' ? false : 'not installed: systemd-analyze';

t.test('the service', { skip }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-unit-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const unit = join(directory, 'zoneplane.service');
  // The program is not installed here.
  writeFileSync(
    unit,
    readFileSync('docs/zoneplane.service', 'utf8').replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`),
  );
  t.match(run('systemd-analyze', 'verify', '--man=no', unit), { status: 0, text: '' });
  const exposure = run('systemd-analyze', 'security', '--offline=yes', '--threshold=30', unit);
  t.equal(exposure.status, 0, exposure.text);
});

t.test('scripts of packages are for any POSIX shell', async (t) => {
  for (const name of ['postinst', 'prerm', 'postrm', 'zoneplane'])
    t.match(run('dash', '-n', join('release/deb', name)), { status: 0, text: '' }, name);
});

t.test('the chart has the version of the program', async (t) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  t.match(parse(readFileSync('docs/kubernetes/chart/Chart.yaml', 'utf8')), { version, appVersion: version });
  const { properties, required } = JSON.parse(readFileSync('docs/kubernetes/chart/values.schema.json', 'utf8'));
  const values = parse(readFileSync('docs/kubernetes/chart/values.yaml', 'utf8'));
  t.strictSame(Object.keys(values), required, 'each value has a schema');
  for (const name of Object.keys(values)) {
    if (properties[name].additionalProperties === false)
      t.strictSame(Object.keys(values[name]), Object.keys(properties[name].properties), name);
  }
});
