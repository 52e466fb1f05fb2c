/** A zone gets its certificate for proxied load balancers as for proxied records. */
import t from 'tap';
import { ZONE_CERTIFICATE_JOB } from '../../../src/control/certificates/zone-certificate.js';
import { listJobs } from '../../../src/store/jobs.js';
import { install } from '../../api/installation.js';

t.test('a load balancer that becomes proxied', async (t) => {
  const { call, store, createZone } = await install(t);
  const account = (await call('GET', '/accounts')).json.result[0].id as string;
  const zone = await createZone('example.com');
  const body = { name: 'web', origins: [{ name: 'a', address: '198.51.100.1' }] };
  const pool = (await call('POST', `/accounts/${account}/load_balancers/pools`, body)).json.result.id as string;
  const pools = { default_pools: [pool], fallback_pool: pool };
  const jobs = () => listJobs(store, 100).filter(({ kind }) => kind === ZONE_CERTIFICATE_JOB).length;
  const made = await call('POST', `/zones/${zone}/load_balancers`, { name: 'lb.example.com', ...pools });
  t.equal(jobs(), 0);
  const id = made.json.result.id as string;
  await call('PATCH', `/zones/${zone}/load_balancers/${id}`, { proxied: true, enabled: false });
  t.equal(jobs(), 0, 'a disabled one leads nowhere');
  t.equal((await call('PATCH', `/zones/${zone}/load_balancers/${id}`, { enabled: true })).status, 200);
  t.equal(jobs(), 1);
});
