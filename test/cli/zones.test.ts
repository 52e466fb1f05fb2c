/** `zone show` and `zone activate`: whose a name is, in words, and the operator's word. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
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

t.test('doctor says once that there is a second account, and warns while claims are trusted', async (t) => {
  await run('auto', 'account', 'create', 'Second');
  t.match((await run('auto', 'doctor')).out, /^warn {2}accounts +there is a second account: /m);
  t.match((await run('trust', 'doctor')).out, /^warn {2}accounts +several accounts share this server/m);
  t.notMatch((await run('delegation', 'doctor')).out, /^warn {2}accounts/m);
});
