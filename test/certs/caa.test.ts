/** CAA: the rules as tables, the search over our own zones and a scripted resolver, and the choice of an authority. */
import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import type { AuthorityName, ChallengeType } from '../../src/certs/authority.js';
import { type Candidate, candidateNames, chooseAuthority, decideForNames } from '../../src/certs/authority-choice.js';
import { asksForAccount, type CaaLookup, decideCaa } from '../../src/certs/caa.js';
import { lookUpCaa } from '../../src/certs/caa-lookup.js';
import { importZone } from '../../src/control/imports/zone.js';
import type { CaaProperty } from '../../src/policy-records/caa.js';
import { createResolver, type Resolver } from '../../src/resolver/resolve.js';
import { createUpstream } from '../../src/resolver/upstream.js';
import { startControl } from '../control/fixture.js';
import { type Script, startScriptedUpstream } from '../support/scripted-upstream.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';

const ISSUER = { identities: ['ca.test'], accountUri: 'https://ca.test/acct/1' };
const BOTH: readonly ChallengeType[] = ['dns-01', 'http-01'];

/** `0 issue ca.test` → record; the value is what follows the second blank, as it is. */
function record(text: string): CaaProperty {
  const [, flags, tag, value] = /^(\d+) (\S+) (.*)$/s.exec(text)!;
  return { flags: Number(flags), tag: tag!, value: value! };
}

function setOf(...texts: string[]): CaaLookup {
  return { kind: 'set', name: 'app.shop.test', owner: 'shop.test', records: texts.map(record) };
}

interface Row {
  readonly what: string;
  readonly records: readonly string[];
  readonly wildcard?: boolean;
  readonly methods?: readonly ChallengeType[];
  /** The methods that are permitted; undefined where it is forbidden. */
  readonly permitted?: readonly ChallengeType[];
  readonly add?: string;
  readonly account?: null;
}

const ROWS: readonly Row[] = [
  { what: 'named', records: ['0 issue ca.test'], permitted: BOTH },
  {
    what: 'another is named',
    records: ['0 issue other.test'],
    add: 'shop.test. CAA 0 issue "ca.test"',
  },
  { what: 'one of several', records: ['0 issue other.test', '0 issue ca.test'], permitted: BOTH },
  { what: 'letter case of tag and domain', records: ['0 ISSUE CA.Test'], permitted: BOTH },
  { what: 'blanks around the domain', records: ['0 issue \t ca.test '], permitted: BOTH },
  { what: 'nobody', records: ['0 issue ;'], add: 'shop.test. CAA 0 issue "ca.test"' },
  { what: 'nobody, with blanks', records: ['0 issue  ; '] },
  { what: 'an empty value', records: ['0 issue '] },
  { what: 'nobody, and yet somebody', records: ['0 issue ;', '0 issue ca.test'], permitted: BOTH },
  { what: 'only iodef', records: ['0 iodef mailto:security@shop.test'], permitted: BOTH },
  { what: 'only contacts', records: ['128 contactemail security@shop.test'], permitted: BOTH },
  { what: 'mail certificates only', records: ['128 issuemail ;'], permitted: BOTH },
  { what: 'issuewild says nothing of plain names', records: ['0 issuewild ;'], permitted: BOTH },
  { what: 'issuewild does not permit plain names', records: ['0 issue ;', '0 issuewild ca.test'] },
  { what: 'wildcard by issue', records: ['0 issue ca.test'], wildcard: true, permitted: ['dns-01'] },
  {
    what: 'wildcard by issuewild alone',
    records: ['0 issue ca.test', '0 issuewild other.test'],
    wildcard: true,
    add: 'shop.test. CAA 0 issuewild "ca.test"',
  },
  { what: 'wildcard, nobody', records: ['0 issue ca.test', '0 issuewild ;'], wildcard: true },
  { what: 'wildcard only', records: ['0 issue ;', '0 issuewild ca.test'], wildcard: true, permitted: ['dns-01'] },
  { what: 'wildcard, only iodef', records: ['0 iodef mailto:a@b.test'], wildcard: true, permitted: ['dns-01'] },
  { what: 'critical and unknown', records: ['0 issue ca.test', '128 tbs unknown'] },
  { what: 'critical and unknown for a wildcard', records: ['128 tbs unknown'], wildcard: true },
  { what: 'unknown, not critical', records: ['0 issue ca.test', '127 tbs unknown'], permitted: BOTH },
  { what: 'critical and known', records: ['128 issue ca.test'], permitted: BOTH },
  { what: 'malformed: a trailing dot', records: ['0 issue ca.test.'] },
  { what: 'malformed: blanks inside', records: ['0 issue ca test'] },
  { what: 'malformed: no label', records: ['0 issue ca..test'] },
  { what: 'malformed: a hyphen first', records: ['0 issue -ca.test'] },
  { what: 'malformed: an octet above ASCII', records: ['0 issue ca.t\u00e9st'] },
  { what: 'malformed: a parameter without value', records: ['0 issue ca.test; account'] },
  { what: 'malformed: parameters divided by blanks', records: ['0 issue ca.test; a=b c=d'] },
  { what: 'malformed: a semicolon too many', records: ['0 issue ca.test; a=b;'] },
  { what: 'malformed does not spoil its neighbour', records: ['0 issue %%%%%', '0 issue ca.test'], permitted: BOTH },
  { what: 'an end without parameters', records: ['0 issue ca.test;'], permitted: BOTH },
  { what: 'unknown parameters', records: ['0 issue ca.test; policy=ev ; x='], permitted: BOTH },
  { what: 'our account', records: ['0 issue ca.test; accounturi=https://ca.test/acct/1'], permitted: BOTH },
  {
    what: 'our account, tag in capitals',
    records: ['0 issue ca.test;AccountURI = https://ca.test/acct/1'],
    permitted: BOTH,
  },
  {
    what: 'another account',
    records: ['0 issue ca.test; accounturi=https://ca.test/acct/2'],
    add: 'shop.test. CAA 0 issue "ca.test; accounturi=https://ca.test/acct/1"',
  },
  { what: 'our account is not known', records: ['0 issue ca.test; accounturi=https://ca.test/acct/1'], account: null },
  {
    what: 'two accounts in one record',
    records: ['0 issue ca.test; accounturi=https://ca.test/acct/1; accounturi=https://ca.test/acct/1'],
  },
  {
    what: 'one account a record',
    records: [
      '0 issue ca.test; accounturi=https://ca.test/acct/2',
      '0 issue ca.test; accounturi=https://ca.test/acct/1',
    ],
    permitted: BOTH,
  },
  { what: 'one method', records: ['0 issue ca.test; validationmethods=dns-01'], permitted: ['dns-01'] },
  { what: 'several methods', records: ['0 issue ca.test; validationmethods=x-y,http-01,dns-01'], permitted: BOTH },
  {
    what: 'another method',
    records: ['0 issue ca.test; validationmethods=dns-01'],
    methods: ['http-01'],
    add: 'shop.test. CAA 0 issue "ca.test; validationmethods=http-01"',
  },
  { what: 'no method', records: ['0 issue ca.test; validationmethods='] },
  { what: 'malformed methods', records: ['0 issue ca.test; validationmethods=dns-01,'] },
  {
    what: 'account and method of different records do not add up',
    records: [
      '0 issue ca.test; accounturi=https://ca.test/acct/1; validationmethods=http-01',
      '0 issue ca.test; accounturi=https://ca.test/acct/2; validationmethods=dns-01',
    ],
    permitted: ['http-01'],
  },
];

t.test('the decision', async (t) => {
  for (const { what, records, wildcard = false, permitted, add, account, methods } of ROWS) {
    const issuer = account === null ? { identities: ISSUER.identities } : ISSUER;
    const asked = methods ?? (wildcard ? ['dns-01'] : BOTH);
    const verdict = decideCaa(setOf(...records), issuer, { wildcard, methods: asked });
    t.equal(verdict.outcome, permitted ? 'permitted' : 'forbidden', what);
    if (verdict.outcome === 'permitted') t.same(verdict.methods, permitted, what);
    if (verdict.outcome === 'forbidden' && add !== undefined) t.same(verdict.add, [add], what);
    // What is said to help does help.
    if (verdict.outcome === 'forbidden') {
      const kept = records.map(record).filter(({ tag }) => verdict.remove.length === 0 || tag !== 'tbs');
      const added = verdict.add.map((line) => record(/CAA (.*)$/.exec(line)![1]!.replaceAll('"', '')));
      const after = decideCaa({ ...setOf(), records: [...kept, ...added] } as CaaLookup, issuer, {
        wildcard,
        methods: asked,
      });
      if (account !== null) t.equal(after.outcome, 'permitted', `${what}, mended`);
    }
  }
});

t.test('the sentences name the deciding records and the remedy', async (t) => {
  const request = { wildcard: false, methods: BOTH };
  t.same(decideCaa(setOf('0 issue other.test', '0 issue third.test'), ISSUER, request), {
    outcome: 'forbidden',
    because:
      'The CAA records at shop.test, where app.shop.test leads, permit only other.test, third.test, not ca.test (issue).',
    add: ['shop.test. CAA 0 issue "ca.test"'],
    remove: [],
  });
  t.same(decideCaa(setOf('0 issue ca.test', '128 tbs a"b'), ISSUER, request), {
    outcome: 'forbidden',
    because: 'The CAA records at shop.test, where app.shop.test leads, have an unknown critical property (tbs).',
    add: [],
    remove: ['shop.test. CAA 128 tbs "a\\"b"'],
  });
  t.match(decideCaa(setOf('0 issue ;'), ISSUER, request), { because: /permit no authority \(issue\)\.$/ });
  t.equal(asksForAccount(setOf('0 issue ca.test')), false);
  t.equal(asksForAccount(setOf('0 issue ca.test; AccountUri=x')), true);
});

const SOA = 'SOA ns1.dns.test. dns.dns.test. 1 7200 3600 1209600 120';
const SHOP = `$ORIGIN shop.test.
@ 60 IN ${SOA}
@ 60 IN NS ns1.dns.test.
@ 60 IN CAA 0 issue "ca.test"
app 60 IN A 192.0.2.1
closed 60 IN CAA 0 issue ";"
deep.under.closed 60 IN A 192.0.2.1
told 60 IN CAA 0 iodef "mailto:a\\"b@shop.test"
below.told 60 IN A 192.0.2.1
alias 60 IN CNAME closed
away 60 IN CNAME target.outside.test.
lost 60 IN CNAME nowhere.outside.test.
loop 60 IN CNAME loop
broken 60 IN CNAME broken.outside.test.
here.moved 60 IN A 192.0.2.1
gone 60 IN DNAME closed
cut 60 IN NS ns.outside.test.
`;

const OUTSIDE: Script = ({ name }) => {
  switch (name) {
    case 'target.outside.test':
      return { answer: ['target.outside.test. 60 CAA 0 issue "outside-ca.test"'] };
    case 'hop.outside.test':
      return {
        answer: ['hop.outside.test. 60 CNAME closed.shop.test.', 'closed.shop.test. 60 CAA 0 issue "liar.test"'],
      };
    case 'broken.outside.test':
      return { rcode: 2 };
    case 'silent.outside.test':
      return undefined;
    case 'cut.shop.test':
      return { answer: ['cut.shop.test. 60 CAA 128 issue "below-the-cut.test"'] };
    case 'country':
      return { answer: ['country. 60 CAA 0 issue "top.test"'] };
    default:
      return { rcode: 3 };
  }
};

async function startResolver(t: Test): Promise<{ resolver: Resolver; clock: TestClock; asked: { name: string }[] }> {
  const { ctx, clock } = await startControl(t);
  const { imported, issues } = await importZone(ctx, { source: { text: SHOP } });
  t.ok(imported, JSON.stringify(issues));
  const outside = await startScriptedUpstream(t, OUTSIDE);
  const upstream = createUpstream({
    servers: [outside.server],
    clock: new SystemClock(),
    random: seededRandom(3),
    timeoutMs: 1000,
    deadlineMs: 1500,
  });
  const resolver = createResolver({
    store: ctx.store,
    upstream,
    clock,
    random: seededRandom(5),
    serving: ctx.settings,
  });
  return { resolver, clock, asked: outside.asked };
}

t.test('the search', async (t) => {
  const { resolver, clock, asked } = await startResolver(t);
  const found = async (name: string): Promise<string> => {
    const lookup = await lookUpCaa(resolver, clock, name);
    if (lookup.kind === 'none') return 'none';
    if (lookup.kind === 'unknown') return `unknown at ${lookup.name}`;
    const texts = lookup.records.map(({ flags, tag, value }) => `${flags} ${tag} ${value}`);
    return `${lookup.name} ${lookup.owner}: ${texts.join(', ')}`;
  };
  t.equal(await found('app.shop.test'), 'shop.test shop.test: 0 issue ca.test', 'up to the parent');
  t.equal(await found('APP.shop.test.'), 'shop.test shop.test: 0 issue ca.test', 'letter case and the final dot');
  t.equal(await found('nobody.app.shop.test'), 'shop.test shop.test: 0 issue ca.test', 'a name that does not exist');
  t.equal(
    await found('deep.under.closed.shop.test'),
    'closed.shop.test closed.shop.test: 0 issue ;',
    'the child shadows the parent, over an empty name',
  );
  t.equal(
    await found('below.told.shop.test'),
    'told.shop.test told.shop.test: 0 iodef mailto:a"b@shop.test',
    'a set with only iodef ends the climb',
  );
  t.equal(asked.length, 0, 'our own zones need nobody outside');
  t.equal(await found('alias.shop.test'), 'alias.shop.test closed.shop.test: 0 issue ;', 'an alias');
  t.equal(await found('x.gone.shop.test'), 'shop.test shop.test: 0 issue ca.test', 'a DNAME to nowhere');
  t.equal(
    await found('away.shop.test'),
    'away.shop.test target.outside.test: 0 issue outside-ca.test',
    'an alias out of our zones',
  );
  t.equal(
    await found('lost.shop.test'),
    'shop.test shop.test: 0 issue ca.test',
    'an alias to nothing: up the name itself, not up its target',
  );
  t.equal(
    await found('hop.outside.test'),
    'hop.outside.test closed.shop.test: 0 issue ;',
    'an alias into our zones; what others say of them does not count',
  );
  t.equal(
    await found('cut.shop.test'),
    'cut.shop.test cut.shop.test: 128 issue below-the-cut.test',
    'below a delegation',
  );
  t.equal(await found('a.b.country'), 'country country: 0 issue top.test', 'up to the last label');
  t.equal(await found('free.outside.test'), 'none');
  t.equal(asked.filter(({ name }) => name === '').length, 0, 'the root is not asked');
  t.equal(await found('loop.shop.test'), 'unknown at loop.shop.test');
  t.equal(await found('broken.shop.test'), 'unknown at broken.shop.test', 'SERVFAIL is not known yet');
  t.equal(await found('a.silent.outside.test'), 'unknown at silent.outside.test', 'nor is silence');
  t.match(decideCaa(await lookUpCaa(resolver, clock, 'broken.shop.test'), ISSUER, { wildcard: false, methods: BOTH }), {
    outcome: 'unknown',
    because: /^The CAA records of broken\.shop\.test could not be looked up: /,
  });
});

t.test('the search ends', async (t) => {
  const clock = new TestClock();
  let asked = 0;
  const slow: Resolver = {
    resolve: async (name) => {
      asked++;
      clock.advance(10_000);
      return { status: 'nodata', chain: [], end: name, records: [], ttl: 0, source: 'upstream' };
    },
  };
  const lookup = await lookUpCaa(slow, clock, Array.from({ length: 100 }, () => 'a').join('.'));
  t.match(lookup, { kind: 'unknown', reason: 'looking them up took too long' });
  t.equal(asked, 4);
});

t.test('all names of a certificate', async (t) => {
  const lookups = new Map<string, CaaLookup>([
    ['shop.test', setOf('0 issue ca.test', '0 issuewild ;')],
    ['free.test', { kind: 'none' }],
    ['dns.test', setOf('0 issue ca.test; validationmethods=dns-01')],
    ['broken.test', { kind: 'unknown', name: 'broken.test', reason: 'servfail' }],
  ]);
  const decide = (...names: string[]) => decideForNames(names, lookups, ISSUER, BOTH);
  t.match(decide('shop.test', 'free.test', '*.free.test'), {
    outcome: 'permitted',
    because: 'The CAA records at shop.test, where app.shop.test leads, permit ca.test. There are no CAA records.',
    add: [],
    methods: new Map<string, ChallengeType[]>([
      ['shop.test', ['dns-01', 'http-01']],
      ['free.test', ['dns-01', 'http-01']],
      ['*.free.test', ['dns-01']],
    ]),
  });
  t.same(decide('dns.test').methods.get('dns.test'), ['dns-01']);
  t.match(decide('shop.test', '*.shop.test'), { outcome: 'forbidden', add: ['shop.test. CAA 0 issuewild "ca.test"'] });
  t.equal(decide('shop.test', 'broken.test').outcome, 'unknown');
  t.equal(decide('*.shop.test', 'broken.test').outcome, 'forbidden', 'a refusal needs no more');
  t.equal(decide('never-asked.test').outcome, 'unknown');
});

t.test('the choice of an authority', async (t) => {
  const decision = (outcome: 'permitted' | 'forbidden' | 'unknown') => ({
    outcome,
    because: outcome,
    add: [],
    remove: [],
    methods: new Map(),
  });
  const candidate = (authority: AuthorityName, outcome: 'permitted' | 'forbidden' | 'unknown'): Candidate => ({
    authority,
    decision: decision(outcome),
  });
  const order = ['google', 'lets_encrypt'] as const;
  t.same(candidateNames(undefined, order), order);
  t.same(candidateNames('ssl_com', order), ['ssl_com'], 'an explicit choice is never replaced');
  const google = candidate('google', 'permitted');
  const other = candidate('lets_encrypt', 'permitted');
  t.match(chooseAuthority([google, other]), { kind: 'use', authority: 'google' });
  t.match(chooseAuthority([candidate('google', 'forbidden'), other]), { kind: 'use', authority: 'lets_encrypt' });
  t.match(
    chooseAuthority([candidate('google', 'unknown'), other]),
    { kind: 'wait', authority: 'google', because: 'unknown' },
    'an uncertainty is not a block',
  );
  t.match(chooseAuthority([candidate('google', 'forbidden'), candidate('lets_encrypt', 'unknown')]), {
    kind: 'wait',
    authority: 'lets_encrypt',
  });
  t.match(chooseAuthority([{ ...google, refusedByCaa: true }, other]), { kind: 'use', authority: 'lets_encrypt' });
  const all = [candidate('google', 'forbidden'), { ...other, refusedByCaa: true }];
  t.same(chooseAuthority(all), { kind: 'blocked', candidates: all });
  t.match(chooseAuthority([candidate('ssl_com', 'forbidden')]), { kind: 'blocked' });
});
