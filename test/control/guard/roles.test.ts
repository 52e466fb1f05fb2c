/** Roles as the table of the documentation has them, and how grants decide. */
import t from 'tap';
import { OPERATOR } from '../../../src/control/guard/actor.js';
import { decide, decideAnywhere, mayGive, showsZone } from '../../../src/control/guard/decision.js';
import { AREAS, type Area } from '../../../src/control/guard/permissions.js';
import { findRole, type Grant, giveEverything, grantsAllow, ROLES } from '../../../src/control/guard/roles.js';

const ACCOUNT = 'a'.repeat(32);
const OTHER = 'b'.repeat(32);
const ONE = '1'.repeat(32);
const TWO = '2'.repeat(32);
const ALL = 'Super Administrator - All Privileges';

/** By hand: zone, DNS, settings, purge, certificates, members, tokens, buckets, audit. */
const TABLE: Readonly<Record<string, string>> = {
  [ALL]: 'w w w w w w w w r',
  Administrator: 'w w w w w r r w r',
  'Administrator Read Only': 'r r r - r r r r r',
  'Minimal Account Access': '- - - - - - - - -',
  Analytics: 'r - - - - - - - -',
  'Audit Logs Viewer': '- - - - - - - - r',
  DNS: 'r w r - - - - - -',
  'Cache Purge': 'r - r w - - - - -',
  'SSL/TLS, Caching, Performance, Page Rules, and Customization': 'r - w w w - - - -',
  'Load Balancer': 'r - - - - - - - -',
  'Cloudflare R2 Admin': '- - - - - - - w -',
  'Cloudflare R2 Read': '- - - - - - - r -',
  'Domain Administrator': 'w w w w w - - - -',
  'Domain Administrator Read Only': 'r r r - r - - - -',
  'Domain DNS': 'r w r - - - - - -',
  'Cache Domain Purge': 'r - r w - - - - -',
};

const COLUMNS: readonly Area[] = [
  'zone',
  'dns',
  'zoneSettings',
  'cachePurge',
  'certificates',
  'members',
  'accountTokens',
  'buckets',
  'audit',
];

const allow = (name: string, zones?: readonly string[]): Grant => ({
  access: 'allow',
  role: ROLES.find((role) => role.name === name)!.id,
  ...(zones && { zones }),
});
const deny = (name: string, zones?: readonly string[]): Grant => ({ ...allow(name, zones), access: 'deny' });
const actorOf = (...grants: Grant[]) => ({
  ...OPERATOR,
  superAdministrator: false,
  accountIds: [ACCOUNT, OTHER],
  grants: { [ACCOUNT]: grants },
});
const at = (zone: string) => ({ account: ACCOUNT, zone });

t.test('each role has what the table says', async (t) => {
  t.strictSame(ROLES.map(({ name }) => name).sort(), Object.keys(TABLE).sort());
  t.equal(new Set(ROLES.map(({ id }) => id)).size, ROLES.length);
  for (const role of ROLES) {
    const given = COLUMNS.map((area) => {
      const may = (level: 'read' | 'write') => grantsAllow([allow(role.name)], area, level, at(ONE));
      return may('write') ? 'w' : may('read') ? 'r' : '-';
    });
    t.equal(given.join(' '), TABLE[role.name], role.name);
    t.ok(grantsAllow([allow(role.name)], 'accountName', 'read', { account: ACCOUNT }));
    t.equal(findRole(role.id), role);
  }
});

t.test('a policy is for its zones', async (t) => {
  const actor = actorOf(allow('DNS', [ONE]));
  t.ok(decide(actor, 'dns', 'write', at(ONE)).allowed);
  t.notOk(decide(actor, 'dns', 'write', at(TWO)).allowed);
  t.notOk(decide(actor, 'dns', 'write', at('*')).allowed, 'nor for all zones');
  t.notOk(decide(actor, 'dns', 'write', { account: ACCOUNT }).allowed);
  t.ok(showsZone(actor, at(ONE)));
  t.notOk(showsZone(actor, at(TWO)));
  t.notOk(decide(actorOf(allow('Administrator', [ONE])), 'account', 'read', at(ONE)).allowed, 'nothing beside zones');
  t.notOk(decide(actorOf(allow('DNS', [])), 'dns', 'read', at(ONE)).allowed, 'an empty group grants nothing');
  t.notOk(decide(actorOf(), 'zone', 'read', at(ONE)).allowed, 'nor does no policy');
  t.ok(decide(actor, 'dns', 'write', { account: OTHER, zone: TWO }).allowed, 'another account has its own');
});

t.test('what one denies no other allows', async (t) => {
  const actor = actorOf(allow(ALL), deny('Domain DNS', [ONE]));
  t.notOk(decide(actor, 'dns', 'write', at(ONE)).allowed);
  t.notOk(decide(actor, 'dns', 'read', at(ONE)).allowed, 'a role that writes also reads');
  t.notOk(decide(actor, 'zone', 'write', at(ONE)).allowed, 'what is not read is not written');
  t.notOk(showsZone(actorOf(allow('DNS'), deny('Domain Administrator', [ONE])), at(ONE)));
  t.ok(decide(actor, 'dns', 'write', at(TWO)).allowed);
  t.ok(decide(actor, 'cachePurge', 'write', at(ONE)).allowed, 'the role does not purge');
  t.ok(decideAnywhere(actor, 'dns', 'write').allowed);
  t.notOk(decideAnywhere({ ...actorOf(allow('DNS'), deny('DNS')), accountIds: [ACCOUNT] }, 'dns', 'read').allowed);
});

t.test('only what one has in all zones is passed on for all zones', async (t) => {
  const actor = actorOf(allow(ALL), deny('Domain DNS', [ONE]));
  t.ok(mayGive(actor, 'dns', 'write', at(TWO)));
  t.notOk(mayGive(actor, 'dns', 'write', at(ONE)));
  t.notOk(mayGive(actor, 'dns', 'write', at('*')), 'a token for all zones would have the denied one');
  t.notOk(mayGive(actor, 'dns', 'write', { account: '*', zone: '*' }));
  t.ok(mayGive(actorOf(allow('DNS')), 'dns', 'write', at('*')));
  t.notOk(mayGive(actorOf(allow('DNS')), 'zone', 'write', at('*')));
});

t.test('a credential does what both it and its user may', async (t) => {
  const group = '4755a26eedb94da69e1066d98aa820be';
  const resources = { 'com.cloudflare.api.account.zone.*': '*' };
  const policies = [{ id: '', effect: 'allow' as const, groups: [group], resources, records: { types: ['TXT'] } }];
  const actor = { ...actorOf(allow('DNS', [ONE])), policies };
  t.match(decide(actor, 'dns', 'write', at(ONE)), { allowed: true, records: [{ types: ['TXT'] }] });
  t.notOk(decide(actor, 'dns', 'write', at(TWO)).allowed);
  t.notOk(decide(actor, 'zoneSettings', 'read', at(ONE)).allowed, 'the role would');
  t.ok(decide(actorOf(), 'user', 'read', { user: 'u' }).allowed, 'the user itself is not the business of accounts');
});

t.test('who has everything needs no look', async (t) => {
  const all = allow(ALL);
  t.ok(giveEverything([all, allow('DNS')]));
  t.notOk(giveEverything([all, deny('DNS', [ONE])]));
  t.notOk(giveEverything([{ ...all, zones: [ONE] }]));
  t.notOk(giveEverything([]));
  const user: readonly Area[] = ['user', 'memberships', 'userTokens'];
  for (const area of AREAS.filter((name) => !user.includes(name))) {
    const level = area === 'audit' || area === 'accountName' ? 'read' : 'write';
    t.ok(grantsAllow([all], area, level, at(ONE)), area);
  }
});
