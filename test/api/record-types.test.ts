/**
 * The description of record types for forms: every type that can be created, with every member; records made from it are
 * accepted.
 */
import t from 'tap';
import { TYPES } from '../../src/dns/rr/registry.js';
import { install } from './installation.js';

interface Member {
  readonly name: string;
  readonly place: string;
  readonly kind: string;
  readonly label: string;
  readonly required: boolean;
}
interface Described {
  readonly type: string;
  readonly about: string;
  readonly proxiable: boolean;
  readonly members: readonly Member[];
}

t.test('every type has a form', async (t) => {
  const { call, misfits } = await install(t);
  const { json } = await call('GET', '/record_types');
  const described = json.result as Described[];
  const creatable = TYPES.filter(({ creatable }) => creatable);
  t.strictSame(described.map(({ type }) => type).sort(), creatable.map(({ mnemonic }) => mnemonic).sort());
  for (const { type, members, about } of described) {
    const { data } = creatable.find(({ mnemonic }) => mnemonic === type)!;
    const inData = members.filter(({ place }) => place === 'data').map(({ name }) => name);
    t.strictSame(inData.sort(), data.map(({ name }) => name).sort(), `members of ${type}`);
    t.equal(
      members.some(({ place }) => place === 'content'),
      data.length === 0,
      `${type} has content or data`,
    );
    t.match(about, /\.$/);
  }
  const proxiable = described.filter((entry) => entry.proxiable).map(({ type }) => type);
  t.strictSame(proxiable.sort(), ['A', 'AAAA', 'CNAME']);
  t.strictSame(misfits, []);
});

t.test('a zone file becomes a zone', async (t) => {
  const { app, call, misfits, token } = await install(t);
  const post = async (query: string, payload: string, headers?: Record<string, string>) =>
    call('POST', `/zones/import${query}`, undefined, { text: payload, ...(headers && { headers }) });
  const file = '$ORIGIN shop.example.\n@ 300 IN SOA ns1 admin 7 2 3 4 5\n@ 300 IN NS ns1\nns1 300 IN A 192.0.2.1\n';
  const tried = await post('?dry_run=true', file);
  t.match(tried.json.result, { imported: true, name: 'shop.example', records: 2, serial: 7, issues_total: 0 });
  t.strictSame((await call('GET', '/zones')).json.result, [], 'a dry run makes nothing');
  const made = await post('', file);
  t.equal(made.json.result.imported, true);
  t.equal((await call('GET', `/zones/${made.json.result.id}`)).json.result.name, 'shop.example');
  t.equal((await post('', file)).status, 400, 'it is there already');
  const [listed] = (await call('GET', '/zones?include_state=true')).json.result;
  t.match(listed.state, {
    serial: 7,
    records: 2,
    dnssec: 'disabled',
    hold: false,
    secondaries: { count: 0, in_sync: 0 },
  });
  t.equal((await call('GET', '/zones')).json.result[0].state, undefined, 'only on request');
  const bad = await post('?name=bad.example', 'www 300 IN A 192.0.2.999\n');
  t.match(bad.json.result, { imported: false, id: null });
  t.ok(
    bad.json.result.issues.some(({ code, line }: { code: string; line: number }) => code === 'syntax' && line === 1),
  );
  t.match((await post('', 'www 300 IN A 192.0.2.9\n')).json.result.issues, [{ code: 'no-origin', line: null }]);
  t.match((await post('', '')).json.result, { imported: false });
  const series = '$GENERATE 1-2 a$ 300 IN A 192.0.2.1\n$GENERATE 1-65535 b$ 300 IN A 192.0.2.1\n';
  const refused = await post('?name=many.example&automatic_soa', series);
  t.match(refused.json.result, {
    imported: false,
    issues: [{ line: 2, message: '$GENERATE makes more than 65536 records in all' }],
  });
  const included = await post('?name=inc.example', '$INCLUDE /etc/passwd\n');
  t.equal(included.json.result.imported, false, 'no file of this machine is read');
  t.equal((await call('GET', '/zones?name=bad.example')).json.result.length, 0);
  const reader = await token({ readOnly: true });
  t.equal((await post('', file.replaceAll('shop', 'other'), reader)).status, 403);
  const narrow = await token({ zoneIds: [made.json.result.id] });
  t.equal((await post('', file.replaceAll('shop', 'other'), narrow)).status, 403);
  t.ok(app);
  t.strictSame(misfits, []);
});
