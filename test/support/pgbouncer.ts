/** PgBouncer in front of a PostgreSQL server of a test. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { freePort } from './free-ports.js';
import { makeServerDirectory, type Postgres } from './postgres.js';
import { until } from './until.js';

const PROGRAM = '/usr/sbin/pgbouncer';

/** Why tests with it are skipped; false where they run. With CI=true they are never skipped. */
export const skipWithoutPgbouncer =
  !existsSync(PROGRAM) && process.env['CI'] !== 'true' ? 'PgBouncer is not installed (apt install pgbouncer)' : false;

/** Resolves to the address of the database through PgBouncer. */
export async function startPgbouncer(
  t: Test,
  postgres: Postgres,
  poolMode: 'session' | 'transaction',
): Promise<string> {
  const directory = makeServerDirectory(t);
  const port = await freePort();
  const configuration = join(directory, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `postgres = host=127.0.0.1 port=${postgres.port} user=zoneplane`,
    '[pgbouncer]',
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = any'],
    `pool_mode = ${poolMode}`,
  ];
  await writeFile(configuration, lines.join('\n'), { mode: 0o644 });
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  const [program, args] = isRoot
    ? ['setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', PROGRAM, configuration]]
    : [PROGRAM, [configuration]];
  const child = spawn(program, args, { stdio: 'ignore', cwd: '/' });
  t.teardown(() => child.kill('SIGKILL'));
  await until(async () => {
    const socket = connect(port, '127.0.0.1');
    return new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    }).finally(() => socket.destroy());
  });
  return postgres.url.replace(`:${postgres.port}`, `:${port}`);
}
