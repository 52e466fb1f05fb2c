/** NSD, Knot and BIND as secondaries of the measured program, with the configuration that `secondary print` prints. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-ports.js';
import { PROGRAMS, type ReferenceName } from '../../test/support/reference-servers.js';
import { createSecondary, type Secondary } from '../../test/support/secondaries.js';
import { dataDirectoryOf, PROGRAM } from '../program.js';
import { ZONE } from '../workload.js';

const KEY_NAME = 'transfer.bench';

/** Those that are installed. `directory`: that of the program. */
export async function startSecondaries(directory: string): Promise<Secondary[]> {
  const own = mkdtempSync(join(directory, 'secondaries-'));
  const command = (...args: string[]): string =>
    execFileSync(process.execPath, [PROGRAM, ...args], {
      env: { ...process.env, ZONEPLANE_DATA_DIR: dataDirectoryOf(directory) },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  command('tsig', 'create', KEY_NAME);
  const started: Secondary[] = [];
  for (const name of Object.keys(PROGRAMS) as ReferenceName[]) {
    if (!existsSync(PROGRAMS[name])) {
      process.stdout.write(`${name}: not installed, left out\n`);
      continue;
    }
    const secondary = createSecondary(name, own, await freePort());
    const place = ['--address', '127.0.0.1', '--port', String(secondary.port)];
    command('secondary', 'add', name, ...place, '--tsig', KEY_NAME, '--zone', ZONE);
    await secondary.start(command('secondary', 'print', '--kind', name, '--address', '127.0.0.1', '--peer', name));
    started.push(secondary);
  }
  return started;
}
