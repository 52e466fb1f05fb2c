/** What is wrong with SPF, DMARC, CAA and the like is said by the API, by `doctor` and by an import, all by one rule. */
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import { importZone } from '../../src/control/imports/zone.js';
import { applyBatch } from '../../src/control/records/batch.js';
import { createZone } from '../../src/control/zones/zones.js';
import { examineStore } from '../../src/warnings/examine.js';
import { install } from './installation.js';

interface Warned {
  readonly name: string;
  readonly meta: { readonly warnings?: readonly { readonly code: string }[] };
}

const codes = ({ meta }: Warned): string => (meta.warnings ?? []).map(({ code }) => code).join(' ');

t.test('records say what is wrong with their policy, and what to change', async (t) => {
  const { call, createZone, operator: ctx, misfits } = await install(t);
  const zone = await createZone('example.com');
  const path = `/zones/${zone}/dns_records`;
  const add = async (name: string, content: string): Promise<Warned> =>
    (await call('POST', path, { type: 'TXT', name, content })).json.result;
  const spf = await add('@', 'v=spf1 include:_spf.example.com -all');
  t.equal(codes(spf), 'spf-include-missing');
  t.match(spf.meta.warnings, [
    {
      code: 'spf-include-missing',
      text: 'in the SPF record of example.com, “include:_spf.example.com” leads to _spf.example.com, which has no SPF record; receivers ignore the whole record',
      remedy: 'Add one to _spf.example.com, or remove the term from example.com.',
    },
  ]);
  const batch = { posts: [{ type: 'TXT', name: '_spf', content: 'v=spf1 ip4:192.0.2.1 ~all' }] };
  const tried = await call('POST', `${path}/batch?dry_run=true`, {
    ...batch,
    posts: [...batch.posts, { type: 'TXT', name: '_dmarc', content: 'v=DMARC1; p=none; rua=x@example.com' }],
  });
  t.strictSame((tried.json.result.posts as Warned[]).map(codes), ['', 'dmarc-reports'], 'before anything is saved');
  const listed = async (): Promise<Record<string, string>> => {
    const { result } = (await call('GET', path)).json as { result: Warned[] };
    return Object.fromEntries(result.map((record) => [record.name, codes(record)]));
  };
  t.strictSame(await listed(), { 'example.com': 'spf-include-missing' });
  const { headers } = await call('GET', path);
  const saved = await call('POST', `${path}/batch`, batch, { headers: { 'if-match': String(headers.etag) } });
  t.equal(saved.status, 200, 'what was read is what is edited');
  t.strictSame(await listed(), { 'example.com': '', '_spf.example.com': '' }, 'by what the zone says now');
  await add('_dmarc', 'v=DMARC1; p=block');
  const found = examineStore({ store: ctx.store, actor: OPERATOR }, ctx.settings, ctx.clock.nowUs());
  t.match(
    found.filter(({ kind }) => kind === 'policy-record'),
    [
      {
        verdict: 'warn',
        zoneId: zone,
        text: /^the DMARC record at _dmarc\.example\.com says p=“block”/,
        remedy: /^Write p=/,
      },
    ],
  );
  t.strictSame(misfits, []);
});

t.test('a zone file is judged by what stands in it', async (t) => {
  const { operator } = await install(t);
  const text = `$ORIGIN example.org.
$TTL 300
@ SOA ns1.example.org. admin.example.org. 1 2 3 4 5
@ NS ns1.example.net.
@ TXT "v=spf1 mx include:a.example.org -all"
@ MX 10 mail.example.net.
a TXT "v=spf1 a:gone.example.org a:w.wild.example.org a:x.cut.example.org a:alias.example.org ?all"
*.wild A 192.0.2.1
cut NS ns.example.net.
alias CNAME elsewhere.example.net.
b TXT "v=spf1 include:x.example.net include:no.example.org -all"
null MX 0 .
null MX 10 mail.example.net.
@ CAA 0 issue "https://letsencrypt.org"
_mta-sts TXT "v=STSv1; id=1"
`;
  const { issues } = await importZone(operator, { source: { text } });
  const of = (prefix: string): string[] =>
    issues.filter(({ code }) => code.startsWith(prefix)).map(({ code, line }) => `${code} ${line}`);
  t.strictSame(of('spf'), ['spf-include-missing 11']);
  t.strictSame(of('null'), ['null-mx 12']);
  t.strictSame(of('caa'), ['caa-value 14']);
  t.strictSame(of('mta'), ['mta-sts 15']);
  t.match(
    issues.find(({ code }) => code === 'caa-value')?.message,
    /permits nobody\. Write the domain of the authority/,
  );
});

t.test('one account does not fill the list of the operator', async (t) => {
  const { operator: ctx } = await install(t);
  const bad = (i: number) => ({ type: 'TXT', name: `_dmarc.h${i}`, content: 'v=DMARC1; p=block' });
  const fill = async (name: string, account: string, count: number): Promise<string> => {
    const { id } = await createZone(ctx, { name, account });
    await applyBatch(ctx, id, { posts: Array.from({ length: count }, (_, i) => bad(i)) });
    return id;
  };
  const { id: theirs } = await createAccount(ctx, { name: 'Theirs', members: ['theirs@example.org'] });
  const { id: mine } = await createAccount(ctx, { name: 'Mine', members: ['mine@example.org'] });
  for (let i = 0; i < 3; i++) await fill(`theirs${i}.test`, theirs, 90);
  const zone = await fill('mine.test', mine, 100);
  const found = examineStore({ store: ctx.store, actor: OPERATOR }, ctx.settings, ctx.clock.nowUs());
  const policies = found.filter(({ kind }) => kind === 'policy-record');
  t.equal(policies.length, 200);
  t.equal(policies.filter(({ zoneId }) => zoneId === zone).length, 100);
});

t.test('nobody learns from a warning what is not theirs to read', async (t) => {
  const { call, createZone, operator } = await install(t);
  const { id: other } = await createAccount(operator, { name: 'Other', members: ['other@example.org'] });
  const theirs = (await call('POST', '/zones', { name: 'other.test', account: { id: other } })).json.result.id;
  await call('POST', `/zones/${theirs}/dns_records`, { type: 'TXT', name: '@', content: 'hello' });
  const mine = await createZone('example.com');
  const { json } = await call('POST', `/zones/${mine}/dns_records`, {
    type: 'TXT',
    name: '@',
    content: 'v=spf1 include:other.test -all',
  });
  t.equal(codes(json.result), '', 'of zones of other accounts, nothing is known');
});
