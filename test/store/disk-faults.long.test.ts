/** What is said when the disk refuses: each fault of the system is told as what it is. The real program under strace. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { acquireFileLock, isFileLocked, shareFileLock } from '../../src/store/file-lock.js';
import { runCommand } from '../support/commands.js';
import { freePort } from '../support/free-ports.js';
import { runAndLosePower, runWithFault, skipWithoutStrace } from '../support/strace.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-faults-'));
const DATA = join(directory, 'data');
const ENVIRONMENT = { ZONEPLANE_DATA_DIR: DATA, ZONEPLANE_RESOLVER_UPSTREAMS: '' };
t.teardown(() => rmSync(directory, { recursive: true }));

t.test('a refused and an unconfirmed write', { skip: skipWithoutStrace }, async (t) => {
  t.match(await runCommand(ENVIRONMENT, 'zone', 'create', 'example.com', '--init'), { code: 0 });
  const path = join(DATA, 'zoneplane.db-wal');
  const create = ['zone', 'create', 'example.net'];
  for (const error of ['EDQUOT', 'EFBIG', 'EIO']) {
    const refused = await runWithFault({ path, inject: `pwrite64:error=${error}` }, ENVIRONMENT, ...create);
    t.match(refused, { code: 1, err: /^zoneplane: The system refused to store the change: a quota/ }, error);
  }
  const full = await runWithFault({ path, inject: 'pwrite64:error=ENOSPC' }, ENVIRONMENT, ...create);
  t.match(full, { code: 1, err: /^zoneplane: There is no space left/ });
  const unconfirmed = await runWithFault({ path, inject: 'fsync,fdatasync:error=EIO' }, ENVIRONMENT, ...create);
  t.match(unconfirmed, { code: 1, err: /^zoneplane: It is not known whether the change was stored, because the disk/ });
});

t.test('the first key, and all above it, survive a power failure', { skip: skipWithoutStrace }, async (t) => {
  const data = join(directory, 'new', 'deep', 'data');
  const environment = { ...ENVIRONMENT, ZONEPLANE_DATA_DIR: data, ZONEPLANE_ADMIN_PORT: String(await freePort()) };
  const { lost } = await runAndLosePower(
    environment,
    ['serve', '--role', 'admin', '--bucket-port', String(await freePort())],
    join(directory, 'new'),
    'initial-key',
  );
  const passing = /-shm$|-newest$|\.lock$|changes\.sock$|serve\.json$|\/spare$|\/listeners(\/|$)/;
  t.same(
    lost.filter((what) => !passing.test(what)),
    [],
  );
});

t.test('locks', async (t) => {
  const path = join(directory, 'some.lock');
  t.notOk(isFileLocked(path), 'no file yet');
  t.notOk(existsSync(path), 'which looking does not make');
  const first = shareFileLock(path);
  const second = shareFileLock(path);
  t.ok(isFileLocked(path));
  t.equal(acquireFileLock(path), undefined);
  first.release();
  t.ok(isFileLocked(path), 'by the other one');
  second.release();
  t.notOk(isFileLocked(path));
  writeFileSync(path, 'octets that somebody left in a lock file, long enough to be looked at '.repeat(20));
  const own = acquireFileLock(path);
  t.ok(own, 'octets in it mean nothing');
  t.equal(acquireFileLock(path), undefined);
  own!.release();
});
