/** The clock is put back, also between two starts: no row waits for longer than its interval. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { authenticateLink } from '../../src/control/access/authentication.js';
import { createLoginLink } from '../../src/control/access/sessions.js';
import { createRecord } from '../../src/control/records/records.js';
import { startRunner } from '../../src/jobs/runner.js';
import { keysOfZone } from '../../src/store/dnssec/keys.js';
import { insertScan } from '../../src/store/records/scans.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { startZone } from '../control/fixture.js';
import { enableSigning } from '../support/signing.js';
import { until } from '../support/until.js';
import { testZoneKeys } from '../support/zone-keys.js';

const SOURCE = resolve(fileURLToPath(import.meta.url), '..', '..', '..', '..', 'src', 'store', 'put-back.ts');
const DAY_MS = 86_400_000;

/** Columns with moments for which nothing waits, that somebody names, or that have a rule of their own. */
const OTHERS: Readonly<Record<string, string>> = {
  jobs: 'put back by the runner with their jobs, or shown only',
  'api_keys.expires_at api_keys.revoked_at': 'named by somebody, or shown only',
  'login_links.expires_at': 'control/access/authentication.ts',
  'sessions.proved_at': 'sign-in/password.ts: a proof of the future does not count',
  'user_links.expires_at': 'sign-in/links.ts: one that lasts longer than it may does not count',
  'sign_in_challenges.expires_at': 'the same in sign-in/begin.ts',
  'used_proofs.expires_at': 'what is remembered longer does no harm',
  'passwords.set_at passkeys.last_used_at memberships.accepted_at bucket_rules.changed_at': 'shown only',
  'authority_orders.expires_at': 'an order more does no harm',
  'authority_certificates.revoked_at': 'in a list of revocations',
  'certificate_orders.expires_at certificate_requests.next_at': 'by the authority, and by their jobs',
  'certificate_requests.renew_at': 'by the certificate, see certs/issuance/jobs.ts',
  'ticket_secrets.made_at': 'certs/ticket-secret.ts',
  'custom_hostnames.next_check_ms': 'by its job',
  'issuance_events.at_ms issuance_lockouts.until_ms': 'control/certificates/issuance-limit.ts',
  'order_starts.at_ms': 'store/certs/order-starts.ts',
  'applied_updates.expires_at': 'a signature is refused for as long as it could be sent again',
  'write_log.written_at template_zones.applied_at': 'shown only',
  'alert_destinations.retry_at': 'alerts/deliverer.ts: no pause is longer than the longest',
  'alert_destinations.disabled_at alert_deliveries.duration_ms': 'shown only',
};

t.test('every column with a moment is known here', async (t) => {
  const { ctx } = await startZone(t);
  const columns = ctx.store
    .prepareTuples<[], [string, string]>(
      `SELECT tables.name, columns.name FROM sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS columns
       WHERE tables.type = 'table' AND columns.type = 'INTEGER' ORDER BY tables.name, columns.name`,
    )
    .all()
    .filter(([, column]) => /_at$|_ms$|_until$|^until$|^since$/.test(column))
    .filter(([, column]) => !/modified_at$|^(created|activated|proven|bound|uploaded|followed|seen)_at$/.test(column));
  const source = readFileSync(SOURCE, 'utf8');
  const isBounded = (table: string, column: string): boolean =>
    new RegExp(`table: '${table}', column: '${column}'`).test(source) ||
    new RegExp(`table: '${table}',[^\n]*moved: \\[[^\\]]*'${column}'`).test(source) ||
    new RegExp(`UPDATE ${table}[^;]*${column}`).test(source);
  const known = new Set(Object.keys(OTHERS).flatMap((names) => names.split(' ')));
  const unknown = columns.filter(
    ([table, column]) => !isBounded(table, column) && !known.has(table) && !known.has(`${table}.${column}`),
  );
  t.same(unknown, [], 'bound it in put-back.ts, or say here why nothing waits for it');
});

for (const isRunning of [false, true]) {
  t.test(isRunning ? 'while the program runs' : 'between two starts', async (t) => {
    const { ctx: plain, clock, zoneId } = await startZone(t);
    const ctx = { ...plain, zoneKeys: await testZoneKeys(plain.store, plain.random) };
    const { store, log } = ctx;
    const run = () => {
      const runner = startRunner({ store, clock, log, owner: 'test', kinds: {} });
      t.teardown(() => runner.stop());
    };
    if (isRunning) run();
    clock.putBack(-2 * DAY_MS);
    const { seq: zone } = findZoneByName(store, 'example.com')!;
    await enableSigning(ctx, zoneId);
    await createRecord(ctx, zoneId, { type: 'CNAME', name: '@', content: 'a.elsewhere.test' });
    const nowUs = clock.nowMs() * 1000;
    const write = (sql: string): Promise<unknown> => store.write(() => store.prepare(sql).run());
    await write(`UPDATE flatten_targets SET asked = 1, ttl = 60, resolved_at = ${nowUs}, expires_at = ${nowUs + 60_000_000},
      refresh_at = ${nowUs / 1000 + 50_000}`);
    await write(`INSERT INTO flatten_targets (name, failures, refresh_at) VALUES (X'00', 3, ${nowUs / 1000 + 12_000})`);
    await store.write(() => insertScan(store, { zone, reviewed: 0, began_at: clock.nowMs() }));
    const link = await createLoginLink(ctx);
    clock.putBack(2 * DAY_MS);
    if (isRunning) clock.advance(10_000);
    else run();
    const targets = () =>
      store
        .prepareTuples<[], [number, number, number]>(
          'SELECT refresh_at, expires_at / 1000, resolved_at / 1000 FROM flatten_targets ORDER BY failures',
        )
        .all();
    await until(() => targets()[0]![2] <= clock.nowMs());
    const [resolved, failing] = targets();
    const [refreshAt, expiresAt] = resolved!;
    const [retryAt] = failing!;
    t.ok(refreshAt > clock.nowMs() && refreshAt <= clock.nowMs() + 60_000, 'resolved again within its TTL');
    t.ok(expiresAt <= clock.nowMs() + 60_000);
    t.ok(retryAt <= clock.nowMs() + 450_000, 'a failing target is tried again');
    for (const key of keysOfZone(store, zone)) t.ok(key.state_at <= clock.nowMs() * 1000, 'rollovers wait from now on');
    t.match(await authenticateLink(ctx, link, '192.0.2.1'), { ok: false }, 'a link lasts no longer');
  });
}
