/** Data directories of released versions are taken over by this program, with all that they answered. Newer ones are in process.long.test.ts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { parseName } from '../../src/dns/name.js';
import { ADMIN_KEY, answersOf, layOut, TSIG, ZONES } from '../support/kept-data.js';
import { startProgram, stopProgram } from '../support/program.js';
import { transfer } from '../support/transfer-client.js';

t.setTimeout(200_000);

/** test/by-hand/keep-data.ts keeps one at each release. */
for (const release of ['1.0']) {
  t.test(`from ${release}`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'zoneplane-upgrade-'));
    t.teardown(() => rmSync(directory, { recursive: true, force: true }));
    const before = layOut(release, join(directory, 'data'));
    const settings = {
      ZONEPLANE_NAMESERVERS: 'ns1.kept.test,ns2.kept.test',
      ZONEPLANE_EDGE_ADDRESSES: '192.0.2.200,2001:db8::200',
    };
    const program = await startProgram({ directory, environment: settings });
    t.teardown(() => stopProgram(program));
    t.strictSame(await answersOf(program.dnsPort), before, 'the answers are the same');
    const response = await fetch(`${program.api}/client/v4/zones`, {
      headers: { authorization: `Bearer ${ADMIN_KEY}` },
    });
    const { result } = (await response.json()) as { result: { name: string }[] };
    t.strictSame(
      result
        .map(({ name }) => name)
        .filter((name) => name.endsWith('.example'))
        .sort(),
      [...ZONES],
      'its key opens the API',
    );
    for (const zone of ZONES) {
      const apex = parseName(`${zone}.`);
      t.match(await transfer(program.dnsPort, apex), { rcode: 5 });
      t.match(await transfer(program.dnsPort, apex, { key: TSIG }), { rcode: 0 }, 'its master key opens the secrets');
    }
  });
}
