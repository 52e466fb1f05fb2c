/** Zones behind an engine that is observed. */
import { createObservation, createObservationBlocks } from '../../src/answer/observation.js';
import { createObservedEngine } from '../../src/answer/observe.js';
import { createEngineState, DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { createClient, Transport, type TransportCode } from '../../src/answer/transport.js';
import { parseIP } from '../../src/base/ip.js';
import { parseName } from '../../src/dns/name.js';
import { typeByMnemonic } from '../../src/dns/rr/registry.js';
import { makeQuery } from './message.js';
import type { ServedZones } from './served-zones.js';
import { TestClock } from './test-clock.js';

const ZONE = '$TTL 60\n@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n';
/** A zone with a few names. */
export const zoneOf = (apex: string) => ({ apex, text: `$ORIGIN ${apex}\n${ZONE}` });

/** An observed engine over zones, and a way to ask it. */
export function observed(zones: Pick<ServedZones, 'writer'>, { ringOctets = 64 * 1024 } = {}) {
  const clock = new TestClock(1_700_000_000_000);
  const observation = createObservation(1, ringOctets);
  const [block] = createObservationBlocks(observation);
  const place = { observation, thread: 0 };
  const answer = createObservedEngine(zones.writer.reader, createEngineState(DEFAULT_ENGINE_SETTINGS), place, clock);
  const out = Buffer.alloc(4096);
  const ask = (
    name: string,
    type: string | number = 'A',
    from = '198.51.100.7',
    options: object = {},
    transport: TransportCode = Transport.udp,
  ): number => {
    const code = typeof type === 'number' ? type : typeByMnemonic(type)!.code;
    const query = makeQuery(parseName(name), code, { edns: 1232, ...options });
    const source = parseIP(from)!;
    const client = { ...createClient(), source, length: source.length, port: 4711, seconds: 1 };
    return answer(query, 0, query.length, out, 0, out.length, transport, client);
  };
  return { clock, observation, block: block!, ask };
}
