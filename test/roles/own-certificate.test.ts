/**
 * The certificate of the service itself: signed on this machine, asked for over ACME where that is set, renewed while it runs.
 */
import { X509Certificate } from 'node:crypto';
import t, { type Test } from 'tap';
import { storedRootsPem } from '../../src/certs/embedded/issuers.js';
import { advanceCertificate } from '../../src/certs/issuance/advance.js';
import type { CertificateContext } from '../../src/certs/issuance/context.js';
import { OWN_CERTIFICATE_JOB } from '../../src/certs/own-certificate.js';
import { loadSettings } from '../../src/config/load.js';
import type { Settings } from '../../src/config/schema.js';
import { createZone, deleteZone } from '../../src/control/zones/zones.js';
import type { JobContext } from '../../src/jobs/kind.js';
import { schedule } from '../../src/jobs/schedule.js';
import { endOwnCertificate, startOwnCertificate } from '../../src/roles/services/own-certificate.js';
import { findRequest } from '../../src/store/certs/requests.js';
import { listJobs } from '../../src/store/jobs.js';
import { startControl } from '../control/fixture.js';
import { hostnameServices } from '../support/hostname-services.js';

const DAY_MS = 86_400_000;
const SETTINGS: Settings = loadSettings({ flags: {}, environment: {} }).settings;
const AUTOMATIC: Settings = {
  ...SETTINGS,
  tlsCert: 'auto',
  nameservers: ['ns1.own.test'],
  adminHost: '192.0.2.53',
  dnsHost: ['0.0.0.0', '::'],
};

async function startWorld(t: Test, outside: boolean) {
  const { ctx, clock, directory } = await startControl(t);
  const { certificates } = await hostnameServices(ctx, { directory });
  const authorities = { ...certificates.authorities, isOutside: () => outside };
  const own: CertificateContext = { ...certificates, authorities };
  const job = { ...ctx, attempt: 0, signal: new AbortController().signal, requireLease() {} } satisfies JobContext;
  return { ctx, clock, own, job };
}

const OWN_JOB = { kind: OWN_CERTIFICATE_JOB, subject: '' };

const leafOf = ({ certificate }: { readonly certificate: string }) => new X509Certificate(certificate);
const serviceRequest = ({ store }: CertificateContext) => findRequest(store, 'service', 'tls');

t.test('none unless the settings require it', async (t) => {
  const { own } = await startWorld(t, false);
  t.equal(await startOwnCertificate(SETTINGS, own), undefined);
  t.equal(await startOwnCertificate({ ...SETTINGS, tlsCert: '/etc/tls.pem' }, own), undefined);
});

t.test('signed on this machine, for names and addresses, and renewed in time', async (t) => {
  const { clock, own, job } = await startWorld(t, false);
  const keeper = (await startOwnCertificate(AUTOMATIC, own))!;
  const leaf = leafOf(keeper.current);
  for (const name of ['ns1.own.test', 'localhost']) t.equal(leaf.checkHost(name), name);
  for (const address of ['127.0.0.1', '::1', '192.0.2.53']) t.ok(leaf.checkIP(address), address);
  t.notOk(leaf.checkIP('0.0.0.0'), 'an address that stands for all is none');
  const [, pem] = keeper.current.certificate.split(/(?<=-----END CERTIFICATE-----)\n+/);
  const issuer = new X509Certificate(pem!);
  t.ok(leaf.verify(issuer.publicKey));
  t.ok(
    issuer.verify(new X509Certificate(storedRootsPem(own.store, clock.nowMs())).publicKey),
    'below the root of /ca.pem',
  );
  t.ok(leaf.subject, 'GnuTLS wants one');
  t.equal(listJobs(own.store, 10).filter(({ kind }) => kind === OWN_CERTIFICATE_JOB).length, 1);
  const seen: string[] = [];
  keeper.onChange(({ certificate }) => seen.push(certificate));
  t.strictSame(await keeper.job.handler(job, ''), { againAtMs: clock.nowMs() + 3_600_000 });
  clock.advance(59 * DAY_MS);
  await keeper.job.handler(job, '');
  t.strictSame(seen, [], 'it is good still');
  clock.advance(2 * DAY_MS);
  await keeper.job.handler(job, '');
  t.strictSame(seen, [keeper.current.certificate]);
  t.ok(Date.parse(leafOf(keeper.current).validTo) > Date.parse(leaf.validTo));
  t.equal(serviceRequest(own), undefined, 'nobody else was asked');
});

t.test('signed anew when the clock was ahead', async (t) => {
  const { clock, own, job } = await startWorld(t, false);
  const ms = 13 * 365 * DAY_MS;
  clock.putBack(-ms);
  const keeper = (await startOwnCertificate(AUTOMATIC, own))!;
  clock.putBack(ms);
  t.ok(Date.parse(leafOf(keeper.current).validFrom) > clock.nowMs());
  await own.store.write(() => keeper.job.followJobs!(own.store));
  const [due] = listJobs(own.store, 10).filter(({ kind }) => kind === OWN_CERTIFICATE_JOB);
  t.equal(due?.run_at, clock.nowMs());
  await keeper.job.handler(job, '');
  t.ok(Date.parse(leafOf(keeper.current).validFrom) <= clock.nowMs());
});

t.test('requested over ACME; the local one serves until it arrives, and when it is lost', async (t) => {
  const { ctx, clock, own, job } = await startWorld(t, true);
  const zone = await createZone(ctx, { name: 'own.test' });
  const keeper = (await startOwnCertificate(AUTOMATIC, own))!;
  const first = keeper.current;
  const seen: string[] = [];
  keeper.onChange(({ certificate }) => seen.push(certificate));
  t.strictSame(await keeper.job.handler(job, ''), { againAtMs: clock.nowMs() + 2000 }, 'soon, as it is pending');
  t.match(serviceRequest(own), { names: '["ns1.own.test"]', method: 'txt' });
  t.equal(keeper.current, first);
  clock.advance(2000);
  await own.store.write(() => schedule(own.store, { ...OWN_JOB, runAtMs: clock.nowMs() + 3_600_000 }, clock.nowMs()));
  await advanceCertificate(own, { kind: 'service', id: 'tls' });
  const [due] = listJobs(own.store, 10).filter(({ kind }) => kind === OWN_CERTIFICATE_JOB);
  t.equal(due?.run_at, clock.nowMs(), 'the listeners take it at once, not at the next look');
  t.strictSame(await keeper.job.handler(job, ''), { againAtMs: clock.nowMs() + 3_600_000 });
  t.strictSame(seen, [keeper.current.certificate]);
  t.match(leafOf(keeper.current).subjectAltName, 'DNS:ns1.own.test');
  t.notOk(leafOf(keeper.current).checkIP('127.0.0.1'));
  t.match(keeper.current.key, /^-----BEGIN PRIVATE KEY-----/);
  await deleteZone(ctx, zone.id);
  await keeper.job.handler(job, '');
  t.equal(keeper.current.certificate, first.certificate, 'its zone is gone');
  t.match(serviceRequest(own), { method: 'http', zone: 0 }, 'the authority may find the name elsewhere');
  await advanceCertificate(own, { kind: 'service', id: 'tls' });
  t.ok(serviceRequest(own), 'a need without zone is not a leftover');
  await endOwnCertificate(own).handler(job, '');
  t.equal(serviceRequest(own), undefined, 'dropped when the settings want it no more');
});
