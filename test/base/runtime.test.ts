/** Checks of the Node.js version: the table of versions, and the message for one that is too old. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import t from 'tap';
import { runtimeComplaint } from '../../src/base/runtime.js';

t.test('too old versions are refused, all others run', async (t) => {
  const table: readonly [version: string, runs: boolean][] = [
    ['v18.20.8', false],
    ['v20.20.2', false],
    ['v22.0.0', false],
    ['v22.18.9', false],
    ['v22.19.0', true],
    ['v22.23.3', true],
    ['v23.0.0', true],
    ['v24.0.0-rc.1', true],
    ['24.21.0', true],
    ['v26.10.0', true],
    ['v100.0.0', true],
  ];
  for (const [version, runs] of table) {
    const complaint = runtimeComplaint(version);
    if (runs) t.equal(complaint, undefined, version);
    else t.match(complaint, `zoneplane needs Node.js 22.19 or later, but this is ${version}: install`, version);
  }
  t.equal(runtimeComplaint(process.version), undefined, 'the tests run on one that is new enough');
});

t.test('package.json names the same version', async (t) => {
  const { engines } = JSON.parse(readFileSync(resolve('package.json'), 'utf8')) as { engines: { node: string } };
  t.equal(engines.node, '>=22.19.0');
  const [, major, minor] = /^>=(\d+)\.(\d+)\.0$/.exec(engines.node) ?? [];
  t.equal(runtimeComplaint(`v${major}.${minor}.0`), undefined);
  t.not(runtimeComplaint(`v${major}.${Number(minor) - 1}.99`), undefined);
});

/** The system's own Node.js, when it is too old to run the program. */
function oldNode(): string | undefined {
  try {
    const version = execFileSync('/usr/bin/node', ['--version'], { encoding: 'utf8' }).trim();
    return runtimeComplaint(version) === undefined ? undefined : version;
  } catch {
    return undefined;
  }
}

const version = oldNode();
t.test(
  'on an older Node.js the program prints one sentence and loads nothing',
  { skip: version === undefined ? '/usr/bin/node is missing, or new enough' : false },
  async (t) => {
    const { status, stdout, stderr } = spawnSync('/usr/bin/node', [resolve('build/src/main.js'), 'version'], {
      encoding: 'utf8',
    });
    t.equal(status, 1);
    t.equal(stdout, '');
    t.equal(stderr, `${runtimeComplaint(version!)}\n`);
  },
);
