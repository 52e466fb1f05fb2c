/** What `certificate`, `ca` and `doctor` say about certificates. */
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { systemRandom } from '../../src/base/random.js';
import { putCertificateRequest } from '../../src/certs/certificates.js';
import { rootCertificatePem } from '../../src/certs/embedded/issuers.js';
import { openStore } from '../../src/store/driver.js';
import { migrate } from '../../src/store/migrate.js';
import { ALL_PURPOSES } from '../../src/store/sealed-columns.js';
import { fileKeys } from '../../src/vault/master-key.js';
import { unlockVault } from '../../src/vault/unlock.js';
import { type Outcome, runCommand } from '../support/commands.js';

const DATA = mkdtempSync(join(tmpdir(), 'zoneplane-cli-certificate-'));
t.teardown(() => rmSync(DATA, { recursive: true, force: true }));

const run = (environment: Record<string, string>, ...args: readonly string[]): Promise<Outcome> =>
  runCommand({ ZONEPLANE_DATA_DIR: DATA, ZONEPLANE_RESOLVER_UPSTREAMS: '', ...environment }, ...args);

t.test('lists, one in detail, authorities and their root', async (t) => {
  const store = openStore(DATA);
  t.teardown(() => store.close());
  const base = { store, clock: new SystemClock(), random: systemRandom };
  migrate(store, base.clock, base.random);
  t.match(await run({}, 'certificate', 'list'), { code: 0, out: 'Nothing needs a certificate.\n' });
  t.match(await run({}, 'ca', 'root'), { code: 1, err: /there is no root certificate yet/ });
  const keys = fileKeys(join(DATA, 'master.key'));
  const vault = await unlockVault({ store, keys, random: systemRandom, purposes: ALL_PURPOSES });
  await rootCertificatePem({ ...base, vault });
  const root = await run({}, 'ca', 'root');
  t.match(new X509Certificate(root.out).subject, /CN=Zoneplane root/);
  const need = { names: ['app.example.com'], method: 'txt', authority: 'google', zone: 1 } as const;
  await store.write(() => putCertificateRequest(base, { kind: 'hostname', id: 'some-id' }, need));
  t.match((await run({}, 'certificate', 'list')).out, /^app\.example\.com +hostname +initializing +- +- +20/m);
  t.match(JSON.parse((await run({}, 'certificate', 'list', '--json')).out), [
    { owner: { kind: 'hostname', id: 'some-id' }, status: 'initializing', names: ['app.example.com'], serving: false },
  ]);
  t.match((await run({}, 'certificate', 'show', 'APP.example.com.')).out, /^app\.example\.com: initializing$/m);
  t.match(await run({}, 'certificate', 'show', 'other.example.com'), { code: 1, err: /nothing needs a certificate/ });
  t.match((await run({}, 'doctor')).out, /^warn {2}certificates +app\.example\.com: initializing$/m);
  const directory = { ZONEPLANE_CA_SSL_COM_DIRECTORY: 'https://acme.example/dir' };
  const { out } = await run(directory, 'ca', 'list');
  t.match(out, /^google +1 +pki\.goog +built in$/m);
  t.match(out, /^ssl_com +when asked for +ssl\.com +https:\/\/acme\.example\/dir$/m);
});
