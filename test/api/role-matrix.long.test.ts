/**
 * Every route of the OpenAPI document with every role, in the own account and in another one, and in zones inside and outside of a
 * policy's resource group. What must come is written by hand: who may what in TABLE, and what a route is about in ROUTES. A route
 * without a row fails.
 */
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { ROLES } from '../../src/control/guard/roles.js';
import { type Answer, install } from './installation.js';

/** What routes are about. `GET` reads it, everything else changes it. */
type Subject =
  | 'zone'
  | 'newZone'
  | 'dns'
  | 'allDns'
  | 'settings'
  | 'purge'
  | 'certificates'
  | 'balancers'
  | 'rules'
  | 'pools'
  | 'account'
  | 'name'
  | 'members'
  | 'tokens'
  | 'buckets'
  | 'audit'
  | 'anybody'
  | 'nobody';

const ZONE_SUBJECTS: readonly Subject[] = ['zone', 'dns', 'settings', 'purge', 'certificates', 'balancers', 'rules'];

/** zone dns settings purge certificates balancers pools account members tokens buckets audit rules */
const TABLE: Readonly<Record<string, string>> = {
  'Super Administrator - All Privileges': 'w w w w w w w w w w w r w',
  Administrator: 'w w w w w w w w r r w r w',
  'Administrator Read Only': 'r r r - r r r r r r r r r',
  'Minimal Account Access': '- - - - - - - - - - - - -',
  Analytics: 'r - - - - - - - - - - - -',
  'Audit Logs Viewer': '- - - - - - - - - - - r -',
  DNS: 'r w r - - - - - - - - - -',
  'Cache Purge': 'r - r w - - - - - - - - -',
  'SSL/TLS, Caching, Performance, Page Rules, and Customization': 'r - w w w - - - - - - - w',
  'Load Balancer': 'r - - - - w w - - - - - -',
  'Cloudflare R2 Admin': '- - - - - - - - - - w - -',
  'Cloudflare R2 Read': '- - - - - - - - - - r - -',
  'Domain Administrator': 'w w w w w w - - - - - - w',
  'Domain Administrator Read Only': 'r r r - r r - - - - - - r',
  'Domain DNS': 'r w r - - - - - - - - - -',
  'Cache Domain Purge': 'r - r w - - - - - - - - -',
};
const COLUMNS = 'zone dns settings purge certificates balancers pools account members tokens buckets audit rules'.split(
  ' ',
);

/** Paths by subject; `*` at the end stands for everything below. The first line that fits counts. */
const ROUTES: readonly (readonly [subject: Subject, ...paths: string[]])[] = [
  // For nobody here, or for a person alone who signed in as themself, and never for a token.
  ['nobody', '/oidc_providers', '/oidc_providers/*', '/user/sso_link'],
  [
    'nobody',
    'POST /accounts/{account_id}/load_balancers',
    '/user/confirm',
    '/user/confirm/options',
    'PUT /user/password',
    '/user/factors',
  ],
  ['nobody', '/user/totp', '/user/recovery_codes', '/user/passkeys', '/user/passkeys/*'],
  ['nobody', '/user/sign_in/{challenge}', '/user/sign_in/passkey/options'],
  ['anybody', '/livez', '/readyz', '/metrics', '/ca.pem', '/.well-known/*', '/ips'],
  ['pools', '/user/load_balancing_analytics/events'],
  [
    'pools',
    '/user/load_balancers/*',
    '/accounts/{account_id}/load_balancers',
    '/accounts/{account_id}/load_balancers/*',
  ],
  // What is of the user alone, or shows no more than the user sees.
  ['anybody', '/user', '/user/*', '/memberships', '/memberships/{membership_id}'],
  ['anybody', '/record_types', '/certificate_authorities', '/graphql', '/overview', '/events', '/search', '/activity'],
  ['anybody', '/activity/queries'],
  // For administrators of the installation.
  ['nobody', '/cluster', 'POST /accounts', 'PATCH /accounts/{account_id}/quotas'],
  ['name', 'GET /accounts', 'GET /accounts/{account_id}', '/accounts/{account_id}/tokens/permission_groups'],
  ['name', '/accounts/{account_id}/tokens/verify', '/accounts/{account_id}/r2/temp-access-credentials'],
  // Whose rights count is examined with what is asked for.
  [
    'name',
    '/accounts/{account_id}/r2/buckets/{bucket_name}/keys',
    '/accounts/{account_id}/r2/buckets/{bucket_name}/links',
  ],
  ['newZone', 'POST /zones', '/zones/import'],
  ['anybody', 'GET /zones'],
  ['members', '/accounts/{account_id}/members', '/accounts/{account_id}/members/*'],
  ['members', '/accounts/{account_id}/roles', '/accounts/{account_id}/roles/{role_id}', '/accounts/{account_id}/iam/*'],
  ['members', '/accounts/{account_id}/sso_connectors', '/accounts/{account_id}/sso_connectors/*'],
  ['tokens', '/accounts/{account_id}/tokens', '/accounts/{account_id}/tokens/*'],
  ['audit', '/accounts/{account_id}/audit_logs', '/accounts/{account_id}/logs/*'],
  ['buckets', '/accounts/{account_id}/r2/*'],
  ['account', '/accounts/{account_id}', '/accounts/{account_id}/quotas', '/accounts/{account_id}/dns_settings'],
  ['account', '/accounts/{account_id}/dns_records/usage', '/accounts/{account_id}/secondary_dns/*'],
  ['account', '/accounts/{account_id}/alerting/v3/*'],
  // Of all zones of the account.
  ['allDns', '/accounts/{account_id}/dns_templates', '/accounts/{account_id}/dns_templates/*'],
  ['zone', 'GET /zones/{zone_id}/rulesets', 'GET /zones/{zone_id}/rulesets/*'],
  ['zone', 'GET /zones/{zone_id}/pagerules', 'GET /zones/{zone_id}/pagerules/{pagerule_id}'],
  ['rules', '/zones/{zone_id}/rulesets', '/zones/{zone_id}/rulesets/*'],
  ['rules', '/zones/{zone_id}/pagerules', '/zones/{zone_id}/pagerules/{pagerule_id}'],
  ['balancers', '/zones/{zone_id}/load_balancers', '/zones/{zone_id}/load_balancers/*'],
  ['purge', '/zones/{zone_id}/purge_cache', '/zones/{zone_id}/invalidate_cache'],
  [
    'certificates',
    '/zones/{zone_id}/custom_hostnames',
    '/zones/{zone_id}/custom_hostnames/*',
    '/zones/{zone_id}/ssl/*',
  ],
  ['certificates', '/zones/{zone_id}/dcv_delegation/uuid'],
  ['dns', '/zones/{zone_id}/dns_records', '/zones/{zone_id}/dns_records/*', '/zones/{zone_id}/history'],
  ['dns', '/zones/{zone_id}/history/*', '/zones/{zone_id}/dnssec', '/zones/{zone_id}/dnssec/*'],
  [
    'dns',
    '/zones/{zone_id}/dns_settings',
    '/zones/{zone_id}/secondary_dns/*',
    '/zones/{zone_id}/activity',
    '/zones/{zone_id}/activity/queries',
    '/zones/{zone_id}/dns_analytics/report',
    '/zones/{zone_id}/dns_analytics/report/bytime',
  ],
  ['settings', '/zones/{zone_id}/settings', '/zones/{zone_id}/settings/{setting}'],
  ['zone', '/zones/{zone_id}', '/zones/{zone_id}/activation_check', '/zones/{zone_id}/hold'],
  ['zone', '/zones/{zone_id}/changes/{change}', '/zones/{zone_id}/workers/routes'],
  ['zone', '/zones/{zone_id}/addressing/regional_hostnames', '/zones/{zone_id}/custom_certificates'],
  ['zone', '/zones/{zone_id}/available_plans'],
  ['zone', '/zones/{zone_id}/custom_ns', '/zones/{zone_id}/subscription', '/zones/{zone_id}/url_normalization'],
  ['zone', '/zones/{zone_id}/argo/tiered_caching'],
];

/** For routes of administrators that examine the body first. */
const PROVIDER = { name: 'x', issuer: 'https://id.example.com', client_id: 'x', client_secret: 'x' };
const BODIES: Readonly<Record<string, object>> = {
  '/oidc_providers': PROVIDER,
  '/oidc_providers/{provider_id}': PROVIDER,
};

interface Route {
  readonly method: string;
  readonly path: string;
  readonly name: string;
  readonly subject: Subject | undefined;
}

function subjectOf(name: string, path: string): Subject | undefined {
  const fits = (row: string): boolean =>
    row.endsWith('/*') ? [path, name].some((text) => text.startsWith(row.slice(0, -1))) : row === path || row === name;
  return ROUTES.find(([, ...rows]) => rows.some(fits))?.[0];
}

/** What the table says of a role: whether it may use a route about this at all. */
function may(role: string, subject: Subject, method: string, isOfGroup: boolean): boolean {
  if (subject === 'anybody' || subject === 'name') return true;
  if (subject === 'nobody') return false;
  if (isOfGroup && !ZONE_SUBJECTS.includes(subject)) return false;
  const column = { newZone: 'zone', allDns: 'dns' }[subject as string] ?? subject;
  const level = TABLE[role]!.split(' ')[COLUMNS.indexOf(column)]!;
  return method === 'GET' || method === 'HEAD' ? level !== '-' : level === 'w';
}

const ABSENT = '0123456789abcdef0123456789abcdef';

/** No permission (10000), an account of others (9109), an administrator's matter (1002), a zone that is not seen (1001). */
function isRefused({ status, json }: Answer, ofZone: boolean): boolean {
  const { code, message } = json?.errors?.[0] ?? {};
  const isUnseen = ofZone && status === 404 && message === 'Invalid zone identifier';
  return (status === 403 && [10000, 9109, 1002].includes(code)) || isUnseen;
}

t.test('every route with every role', async (t) => {
  const world = await install(t, { rateLimit: 1_000_000 });
  const { app, call, operator, token } = world;
  const document = (await app.inject('/openapi.json')).json();
  const routes = Object.entries<object>(document.paths).flatMap(([full, methods]) =>
    Object.keys(methods).map((lower): Route => {
      const [method, path] = [lower.toUpperCase(), full.replace(/^\/client\/v4/, '')];
      const name = `${method} ${path}`;
      return { method, path, name, subject: subjectOf(name, path) };
    }),
  );
  t.ok(routes.length > 250, `${routes.length} routes`);
  t.strictSame(
    routes.filter(({ subject }) => !subject).map(({ name }) => name),
    [],
    'each route has a row',
  );

  const { id: account } = await createAccount(operator, { name: 'Team', members: ['head@example.org'] });
  const { id: elsewhere } = await createAccount(operator, { name: 'Other', members: ['other@example.org'] });
  const add = async (path: string, body: object): Promise<{ id: string }> => {
    const { status, json, text } = await call('POST', path, body);
    if (status !== 200) throw new Error(`${path}: ${text}`);
    return json.result;
  };
  const zoneIn = async (name: string, id: string) => (await add('/zones', { name, account: { id } })).id;
  const inside = await zoneIn('inside.test', account);
  const outside = await zoneIn('outside.test', account);
  const foreign = await zoneIn('foreign.test', elsewhere);
  const { id: group } = await add(`/accounts/${account}/iam/resource_groups`, {
    name: 'Inside',
    scope: {
      key: `com.cloudflare.api.account.${account}`,
      objects: [{ key: `com.cloudflare.api.account.zone.${inside}` }],
    },
  });

  const deviations: string[] = [];
  const nothings = new Map<Route, string>();
  let asked = 0;
  const ask = async (headers: Record<string, string>, route: Route, ids: { zone: string; account: string }) => {
    asked += 1;
    const url = route.path
      .replace('{zone_id}', ids.zone)
      .replace('{account_id}', ids.account)
      .replace('{bucket_name}', 'absent')
      .replace(/\{[^}]+\}/g, ABSENT);
    const body = ['GET', 'DELETE', 'HEAD'].includes(route.method) ? undefined : (BODIES[route.path] ?? {});

    // The condition does not hold: what is permitted is not done.
    return call(route.method as 'GET', url, body, { headers: { ...headers, 'if-match': '"never"' } });
  };
  const cases = ROLES.flatMap((role) => [
    ...(role.scope === 'account' ? [{ role, ofGroup: false }] : []),
    ...(role.scope === 'zone' || role.name === 'DNS' || role.name === 'Administrator' ? [{ role, ofGroup: true }] : []),
  ]);
  for (const [number, { role, ofGroup }] of cases.entries()) {
    const email = `member${number}@example.org`;
    const headers = await token({ email });
    const access = { access: 'allow', permission_groups: [{ id: role.id }], resource_groups: [{ id: group }] };
    const given = ofGroup ? { policies: [access] } : { roles: [role.id] };
    await add(`/accounts/${account}/members`, { email, ...given, status: 'accepted' });
    const seesZones = TABLE[role.name]!.split(' ')
      .slice(0, 6)
      .some((level) => level !== '-');
    for (const route of routes) {
      const ofZone = route.path.startsWith('/zones/{zone_id}');
      const expected = may(role.name, route.subject!, route.method, ofGroup);
      const places = [
        { place: 'own', ids: { zone: inside, account }, expected },
        ...(ofZone && ofGroup ? [{ place: 'outside', ids: { zone: outside, account }, expected: false }] : []),
        ...(/\{(zone|account)_id\}/.test(route.path)
          ? [{ place: 'foreign', ids: { zone: foreign, account: elsewhere }, expected: false }]
          : []),
      ];
      for (const { place, ids, expected } of places) {
        const answer = await ask(headers, route, ids);
        const isUnseen = place !== 'own' || (ofZone && !seesZones);
        if (isUnseen && answer.status >= 400 && answer.status < 500 && !isRefused(answer, ofZone)) {
          // What is wrong with the request itself may be said first, as of identifiers that nobody has.
          const nothing = nothings.get(route) ?? (await ask(headers, route, { zone: ABSENT, account: ABSENT })).text;
          nothings.set(route, nothing);
          if (nothing === answer.text) continue;
        }
        if (answer.status >= 500 || isRefused(answer, ofZone) === expected) {
          deviations.push(
            `${role.name}${ofGroup ? ' of a group' : ''}, ${place}: ${route.name} ${answer.status} ${answer.text.slice(0, 120)}`,
          );
        }
      }
    }
    for (const path of ['/zones?per_page=50', '/search?query=.test', '/overview', '/activity', '/activity/queries']) {
      const { text } = await call('GET', path, undefined, { headers });
      if (text.includes('foreign.test')) deviations.push(`${role.name}: ${path} shows others`);
      if (text.includes('outside.test') && (ofGroup || !seesZones))
        deviations.push(`${role.name}: ${path} shows too much`);
      if (path.startsWith('/zones') && seesZones !== text.includes('inside.test'))
        deviations.push(`${role.name}: ${path}`);
    }
  }
  t.strictSame(deviations, [], `${asked} requests`);
  t.match(await call('GET', `/zones/${inside}`), { status: 200 }, 'nothing was done');
});
