/**
 * A server for the bench part `dnssec`: signs a zone file, writes the signed zone for other servers, and answers with the
 * engine and the transport of the DNS process.
 *
 * Arguments: zone file, apex, port, none|nsec|nsec3, file to write.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { MessageChannel } from 'node:worker_threads';
import { createEngine } from '../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS } from '../src/answer/state.js';
import { SystemClock } from '../src/base/clock.js';
import { silentLogger } from '../src/base/log.js';
import type { Denial } from '../src/dnssec/denial.js';
import { startDnsServers } from '../src/server/start.js';
import { serveZones } from '../test/support/served-zones.js';

const DENIALS: Readonly<Record<string, Denial | undefined>> = {
  none: undefined,
  nsec: { kind: 'nsec' },
  nsec3: { kind: 'nsec3', iterations: 0, salt: new Uint8Array(0), optOut: false },
};

const [zoneFile, apex, port, kind, signedFile] = process.argv.slice(2) as [string, string, string, string, string];
const zone = { apex, text: readFileSync(zoneFile, 'utf8'), denial: DENIALS[kind] };
const { writer, signed, refused } = serveZones([zone]);
for (const reason of refused.values()) throw new Error(reason);
const own = signed.get(apex);
if (own) writeLines(signedFile, own.lines());
await startDnsServers({
  addresses: ['127.0.0.1'],
  port: Number(port),
  transport: 'auto',
  workers: 1,
  answer: createEngine(writer.reader, DEFAULT_ENGINE_SETTINGS),
  workerEngine: {
    connect: () => ({
      data: { image: writer.current(), settings: DEFAULT_ENGINE_SETTINGS },
      port: new MessageChannel().port2,
    }),
  },
  log: silentLogger(),
  clock: new SystemClock(),
});
const { nodes, heapOctets, slotOctets } = writer.usage();
process.stdout.write(`${kind}: ${((heapOctets + slotOctets) / nodes).toFixed(0)} octets a node of the image\n`);

function writeLines(file: string, lines: Iterable<string>): void {
  writeFileSync(file, '');
  let piece = '';
  for (const line of lines) {
    piece += `${line}\n`;
    if (piece.length < 1 << 20) continue;
    appendFileSync(file, piece);
    piece = '';
  }
  appendFileSync(file, piece);
}
