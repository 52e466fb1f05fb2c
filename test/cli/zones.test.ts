/** `zone show` and `zone activate`: whose a name is, in words, and the operator's word. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { Type } from '../../src/dns/codes.js';
import { printDetail } from '../../src/statistics/detail.js';
import { openStore } from '../../src/store/driver.js';
import { DAY, HOUR, putQueries } from '../../src/store/zones/queries.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { type Outcome, runCommand } from '../support/commands.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-zones-'));
t.teardown(() => rmSync(directory, { recursive: true }));

function run(activation: string, ...args: readonly string[]): Promise<Outcome> {
  const offline = { ZONEPLANE_DATA_DIR: join(directory, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '' };
  return runCommand({ ...offline, ZONEPLANE_ZONE_ACTIVATION: activation }, ...args);
}

t.test('a zone says what proves its name, or what it waits for', async (t) => {
  await run('auto', 'zone', 'create', 'example.com', '--init');
  const active = await run('auto', 'zone', 'show', 'EXAMPLE.com.');
  t.match(active, { code: 0, out: /^example\.com is active, serial \d+, 0 records$/m });
  t.match(active.out, /^The name is proven by the word of this server’s operator since 20\S+Z\.$/m);
  await run('delegation', 'zone', 'create', 'example.org');
  const waits = await run('delegation', 'zone', 'show', 'example.org');
  t.match(waits.out, /^example\.org is pending/m);
  t.match(waits.out, /becomes active when example\.org is delegated to ns1\.\S+ and ns2\.\S+\.$/m);
  t.match(await run('delegation', 'zone', 'activate', 'example.org'), { code: 0, out: /is pending/ });
  t.match(await run('delegation', 'zone', 'activate', 'example.org', '--proven'), { code: 0, out: /is active/ });
  const { proven_by, contested, proof_record } = JSON.parse(
    (await run('auto', 'zone', 'show', 'example.org', '--json')).out,
  );
  t.match(
    { proven_by, contested, proof_record },
    {
      proven_by: 'operator',
      contested: false,
      proof_record: { type: 'TXT', name: '_zoneplane-zone.example.org', content: /^zoneplane-zone=[0-9a-f]{32}$/ },
    },
  );
  t.match(await run('auto', 'zone', 'show', 'example.net'), { code: 1, err: /there is no zone example\.net/ });
});

t.test('what a zone was asked, as a table and as JSON', async (t) => {
  const data = { ZONEPLANE_DATA_DIR: join(directory, 'data') };
  await run('auto', 'zone', 'create', 'asked.test');
  t.match(await run('auto', 'zone', 'stats', 'asked.test'), {
    code: 0,
    out: /^no queries are stored for this time; a running server/m,
  });
  const store = openStore(data.ZONEPLANE_DATA_DIR);
  const { seq } = findZoneByName(store, 'asked.test')!;
  const now = Date.now() / 1000;
  for (const span of [HOUR, DAY]) {
    const detail = printDetail({
      total: 9,
      names: new Map([
        [`${Type.a} www.asked.test`, 5],
        [`${Type.mx} asked.test`, 3],
      ]),
      networks: new Map([['192.0.2.0/24', 9]]),
    });
    await store.write(() =>
      putQueries(store, { zone: seq, span, begins: Math.floor(now / span) * span, total: 9, detail }),
    );
  }
  store.close();
  const table = await run('auto', 'zone', 'stats', 'asked.test');
  t.equal(table.code, 0, table.err);
  t.match(table.out, /www\.asked\.test +A +5\nasked\.test +MX +3\n\(others\) +\(others\) +1\n/);
  t.match(table.out, /^9 queries from 20\S+Z to 20\S+Z$/m);
  const json = await run('auto', 'zone', 'stats', 'asked.test', '--by', 'sourceNetwork', '--json');
  t.match(JSON.parse(json.out), {
    totals: { queryCount: 9 },
    data: [{ dimensions: ['192.0.2.0/24'], metrics: [9] }],
  });
  const filtered = await run('auto', 'zone', 'stats', 'asked.test', '--by', 'queryType', '--filter', 'queryType==MX');
  t.match(filtered.out, /MX +3\n3 queries/);
  for (const [option, value] of [
    ['--by', 'coloName'],
    ['--since', 'yesterday'],
    ['--filter', 'queryType'],
    ['--limit', '2000'],
  ] as const) {
    t.match(
      await run('auto', 'zone', 'stats', 'asked.test', option, value),
      { code: /[12]/, out: '', err: /./ },
      option,
    );
  }
});

t.test('doctor says once that there is a second account, and warns while claims are trusted', async (t) => {
  await run('auto', 'account', 'create', 'Second');
  t.match((await run('auto', 'doctor')).out, /^warn {2}accounts +there is a second account: /m);
  t.match((await run('trust', 'doctor')).out, /^warn {2}accounts +several accounts share this server/m);
  t.notMatch((await run('delegation', 'doctor')).out, /^warn {2}accounts/m);
});
