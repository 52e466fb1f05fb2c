/**
 * Every route of the OpenAPI document with every kind of credential that must not use it. A route that names neither a zone nor an
 * account needs a row in {@link OPEN}, or is refused to credentials that are limited.
 */
import t, { type Test } from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { DNS_WRITE } from '../../src/control/guard/permissions.js';
import { createPreviews } from '../../src/monitoring/previews.js';
import { TestClock } from '../support/test-clock.js';
import { ANONYMOUS, type Answer, install } from './installation.js';

const ABSENT = '0123456789abcdef0123456789abcdef';

interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
}

/** Needs no credential. */
const PUBLIC =
  /^GET \/(ips|livez|readyz|ca\.pem|metrics|\.well-known\/\S+)$|^\w+ \/user\/(sign_in|password_reset)(\/\S+)?$/;

/** Routes that show a credential itself, or only what it may see. */
const OPEN = new Set([
  'GET /zones',
  'GET /accounts',
  'GET /accounts/{account_id}',
  'GET /user/tokens/verify',
  'GET /accounts/{account_id}/tokens/verify',
  'GET /user/tokens/permission_groups',
  'GET /accounts/{account_id}/tokens/permission_groups',
  'GET /user/permissions',
  'GET /user/sessions',
  'POST /user/sessions',
  'GET /user/sessions/{session_id}',
  'DELETE /user/sessions/{session_id}',
  'GET /events',
  'GET /overview',
  'GET /search',
  'POST /accounts/{account_id}/r2/temp-access-credentials',
  // What a link allows is asked once it is known.
  'POST /accounts/{account_id}/r2/buckets/{bucket_name}/links',
  // Each zone is examined by itself (templates.test.ts).
  'POST /accounts/{account_id}/dns_templates/{template_id}/apply',
  'GET /activity',
  'GET /activity/queries',
  'GET /record_types',
  'GET /certificate_authorities',
  'POST /graphql',
]);

/** What a token for some records of a zone reaches: these records, and what tells nothing about the others. */
const OF_RECORDS = [
  /^\S+ \/zones\/\{zone_id\}\/dns_records(\/(\{dns_record_id\}|batch|export|import))?$/,
  /^GET \/zones\/\{zone_id\}(\/(hold|changes\/\{change\}))?$/,
  // Of what is not supported there is nothing.
  /^GET \/zones\/\{zone_id\}\/(pagerules|pagerules\/\{pagerule_id\}|workers\/routes|addressing\/regional_hostnames|custom_certificates|available_plans|custom_ns|subscription|url_normalization|argo\/tiered_caching)$/,
  /^GET \/zones\/\{zone_id\}\/rulesets/,
];

async function routesOf(t: Test) {
  const world = await install(t);
  const document = (await world.app.inject('/openapi.json')).json();
  const routes = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method): Route => {
      return { method: method.toUpperCase() as Route['method'], path: path.replace(/^\/client\/v4/, '') };
    }),
  );
  return { ...world, routes };
}

t.test('no credential reaches what is not its own', async (t) => {
  const { call, createZone, operator, token, clock, routes } = await routesOf(t);
  t.ok(routes.length > 150, `${routes.length} routes`);
  const home = (await call('GET', '/accounts')).json.result[0].id as string;
  const mine = await createZone('mine.test');
  const other = await createZone('other.test');
  await createAccount(operator, { name: 'Foreign', members: ['foreign@example.org'] });
  await call('POST', `/accounts/${home}/r2/buckets`, { name: 'assets' });
  const foreign = await token({ email: 'foreign@example.org' });
  const ofZone = await token({ zoneIds: [other] });
  const reading = await token({ zoneIds: [mine], readOnly: true });
  const zone = `com.cloudflare.api.account.zone.${mine}`;
  const policy = { effect: 'allow', permission_groups: [{ id: DNS_WRITE }], resources: { [zone]: '*' } } as const;
  const ofRecords = await token({ policies: [{ ...policy, records: { names: ['_acme.*'], types: ['TXT'] } }] });
  const expired = await token({ expiresAt: clock.nowUs() + 1_000_000 });
  clock.advance(2000);

  const ask = ({ method, path }: Route, headers: Record<string, string>, ids: { zone: string; account: string }) => {
    const url = path
      .replace('{zone_id}', ids.zone)
      .replace('{account_id}', ids.account)
      .replace('{bucket_name}', 'assets')
      .replace(/\{[^}]+\}/g, ABSENT);
    return call(method, url, method === 'GET' || method === 'DELETE' ? undefined : {}, { headers });
  };
  const own = { zone: mine, account: home };
  const deviations: string[] = [];
  const expect = (isRight: boolean, route: string, who: string, { status, text }: Answer): void => {
    if (!isRight) deviations.push(`${who}: ${route} ${status} ${text.slice(0, 200)}`);
  };
  for (const route of routes) {
    const name = `${route.method} ${route.path}`;
    if (PUBLIC.test(name)) continue;
    const isOfZone = route.path.includes('{zone_id}');
    const isOfAccount = route.path.includes('{account_id}');
    const nobody = await ask(route, ANONYMOUS, own);
    expect(nobody.status === 400 && nobody.text.includes('9106'), name, 'no credential', nobody);
    const late = await ask(route, expired, own);
    expect([401, 403].includes(late.status), name, 'expired', late);
    if (isOfZone || isOfAccount) {
      const theirs = await ask(route, foreign, own);
      expect(theirs.status >= 400 && theirs.status < 500, name, 'another account', theirs);
      const nothing = await ask(route, foreign, { zone: ABSENT, account: ABSENT });
      expect(theirs.status === nothing.status && theirs.text === nothing.text, name, 'existence', theirs);
    }
    if (OPEN.has(name)) continue;
    const beside = await ask(route, ofZone, own);
    expect(beside.status === 403, name, 'a token of another zone', beside);
    if (!isOfZone) {
      const read = await ask(route, reading, own);
      expect(read.status === 403, name, 'a reading token of a zone', read);
    } else if (route.method !== 'GET') {
      const read = await ask(route, reading, own);
      expect(read.status === 403, name, 'a reading token of the zone', read);
    }
    if (!OF_RECORDS.some((pattern) => pattern.test(name))) {
      const record = await ask(route, ofRecords, own);
      expect(record.status === 403, name, 'a token for records', record);
    }
  }
  t.strictSame(deviations, []);
});

t.test('a read-only credential cannot make the server ask others', async (t) => {
  let asked = 0;
  const previews = createPreviews({
    ...{ clock: new TestClock(), node: 'here' },
    async once(targets) {
      asked++;
      return targets.map(() => ({
        ...{ pass: true, reason: 'No failures' as const, responseCode: 200, rttMs: 7, timedOut: false },
      }));
    },
  });
  const world = await install(t, {
    probing: { node: 'here', lastOf: async () => [], previews },
    activation: 'delegation',
    async askOutside() {
      asked++;
      throw new Error('nobody answers');
    },
    async findDelegation() {
      asked++;
      throw new Error('nobody answers');
    },
  });
  const { call, createZone, token } = world;
  const account = (await call('GET', '/accounts')).json.result[0].id as string;
  const zone = await createZone('pending.test');
  const balancing = `/accounts/${account}/load_balancers`;
  const monitor = (await call('POST', `${balancing}/monitors`, {})).json.result.id;
  const body = { name: 'web', monitor, origins: [{ name: 'a', address: '198.51.100.1' }] };
  const pool = (await call('POST', `${balancing}/pools`, body)).json.result.id;
  const webhooks = `/accounts/${account}/alerting/v3/destinations/webhooks`;
  // Nobody listens there.
  const webhook = (await call('POST', webhooks, { name: 'x', url: 'http://127.0.0.1:9/' })).json.result.id;
  const reading = await token({ readOnly: true });
  asked = 0;
  for (const [method, path] of [
    ['PUT', `/zones/${zone}/activation_check`],
    ['POST', `/zones/${zone}/dns_records/scan`],
    ['POST', `/zones/${zone}/dns_records/scan/trigger`],
    ['POST', `${balancing}/monitors/${monitor}/preview`],
    ['POST', `${balancing}/pools/${pool}/preview`],
    ['POST', `${webhooks}/${webhook}/test`],
  ] as const) {
    const answer = await call(method, path, {}, { headers: reading });
    t.match(answer, { status: 403, json: { errors: [{ code: 10000 }] } }, path);
  }
  t.equal(asked, 0);
  t.strictSame((await call('GET', `${webhooks}/${webhook}/deliveries`)).json.result, []);
  t.equal((await call('POST', `${balancing}/pools/${pool}/preview`, {})).status, 200);
  t.ok(asked > 0, 'whoever may write may ask');
});
