/**
 * `node build/test/by-hand/keep-data.js RELEASE`: at a release, makes a data directory with zones, a signed one, keys and a peer, and keeps
 * it with the answers of its server in `test/store/released/`, for test/e2e/upgrade.long.test.ts of later versions.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { runCommand } from '../support/commands.js';
import { ADMIN_KEY, answersOf, keepData, TSIG, ZONES } from '../support/kept-data.js';
import { startProgram, stopProgram } from '../support/program.js';

const [release] = process.argv.slice(2);
if (!release) throw new Error('say which release');
const directory = mkdtempSync(join(tmpdir(), 'zoneplane-keep-'));
const environment = { ZONEPLANE_DATA_DIR: join(directory, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '' };
const run = async (...args: string[]): Promise<void> => {
  const { code, err } = await runCommand(environment, ...args);
  if (code !== 0) throw new Error(`${args.join(' ')}: ${err}`);
};
const settings = {
  ZONEPLANE_NAMESERVERS: 'ns1.kept.test,ns2.kept.test',
  ZONEPLANE_EDGE_ADDRESSES: '192.0.2.200,2001:db8::200',
};
for (const zone of ZONES) {
  writeFileSync(
    join(directory, zone),
    `$ORIGIN ${zone}.\n$TTL 300\n@ SOA ns h 2026112601 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\nwww AAAA 2001:db8::2\nalias CNAME www\n` +
      '@ MX 10 mail\nmail A 192.0.2.3\n@ TXT "a; b" "c"\n*.wild TXT "w"\nsub NS ns.sub\nns.sub A 192.0.2.4\n_s._tcp SRV 0 5 5060 www\n',
  );
}
let program = await startProgram({ directory, key: ADMIN_KEY, environment: settings });
const key = join(directory, 'named.conf');
writeFileSync(
  key,
  `key kept.test { algorithm hmac-sha256; secret "${Buffer.from(TSIG.secret).toString('base64')}"; };\n` +
    ZONES.map(
      (zone) => `zone ${zone} { type primary; file "${join(directory, zone)}"; allow-transfer { key kept.test; }; };\n`,
    ).join(''),
);
await run('import-config', key, '--yes');
for (const zone of ZONES) await run('record', 'add', zone, 'added', 'A', '192.0.2.9');
await run('dnssec', 'enable', 'signed.example');
await stopProgram(program);
program = await startProgram({ directory, key: ADMIN_KEY, environment: settings });
const answers = await answersOf(program.dnsPort);
await stopProgram(program);
const database = new Database(join(directory, 'data', 'zoneplane.db'));
database.pragma('wal_checkpoint(TRUNCATE)');
database.pragma('journal_mode = DELETE');
database.exec('VACUUM');
database.close();
keepData(release, join(directory, 'data'), answers);
rmSync(directory, { recursive: true });
