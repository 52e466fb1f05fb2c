/** The program in a terminal that closes: it ends, and leaves nobody on its ports. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import t from 'tap';
import { freePort } from '../support/free-ports.js';

const PYTHON = '/usr/bin/python3';
const skip = existsSync(PYTHON) || process.env['CI'] === 'true' ? false : `not installed: ${PYTHON}`;

/** Starts a program in a terminal of its own, has it hang up when `ready` was printed, and prints how the program ended. */
const HANG_UP = `
import os, pty, signal, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
signal.alarm(90)
said = b''
while b'eady' not in said:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        piece = b''
    if not piece:
        print('it did not start:', said[-2000:])
        sys.exit(1)
    said += piece
os.close(terminal)
status = os.waitpid(pid, 0)[1]
print('exit', os.waitstatus_to_exitcode(status))
`;

t.test('SIGHUP from a terminal that closes ends the program', { skip }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-terminal-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(join(directory, 'zones'));
  const [dnsPort, adminPort, bucketPort] = [await freePort(), await freePort(), await freePort()];
  const environment = {
    PATH: process.env['PATH'],
    ZONEPLANE_DATA_DIR: join(directory, 'data'),
    ZONEPLANE_ZONES_DIR: join(directory, 'zones'),
    ZONEPLANE_DNS_HOST: '127.0.0.1',
    ZONEPLANE_DNS_PORT: String(dnsPort),
    ZONEPLANE_DNS_WORKERS: '1',
    ZONEPLANE_ADMIN_PORT: String(adminPort),
    ZONEPLANE_BUCKET_PORT: String(bucketPort),
    ZONEPLANE_RESOLVER_UPSTREAMS: '',
    ZONEPLANE_EDGE: 'off',
  };
  const command = ['-c', HANG_UP, process.execPath, resolve('build/src/main.js'), 'serve'];
  const { stdout, stderr } = spawnSync(PYTHON, command, { env: environment, encoding: 'utf8', timeout: 120_000 });
  t.equal(stdout.trim().split('\n').at(-1), 'exit 0', stdout + stderr);
  await t.rejects(fetch(`http://127.0.0.1:${adminPort}/livez`), 'and nobody is left on its port');
});
