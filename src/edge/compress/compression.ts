/**
 * Who may compress, and in which coding. Encoders take memory and processor time, which accounts share, and so do the clients of an
 * account; whoever gets no share is sent the plain form.
 */
import type { Clock } from '../../base/clock.js';
import { createMemoryShares } from '../../base/memory-shares.js';
import type { MetricSample } from '../../base/metrics.js';
import { type AcceptedCodings, type Coding, preferredCoding } from '../../http/content-coding.js';
import type { EdgeRequest, ServedRoute } from '../exchange/exchange.js';
import { ABLE, ABLE_WITHOUT_BR, ENCODER_OCTETS, type Encoder, type EncoderEvents, Encoders } from './encoders.js';

/** Memory for all encoders at once. */
const MOST_OCTETS = 64 * 1024 * 1024;

/** For whom something is compressed. */
export interface EncoderShare {
  readonly account: number;
  /** What counts as one client. */
  readonly network: string;
}

export interface Compression {
  readonly clock: Clock;
  /** Undefined if others use so much that there is none left. It gives back what it takes when it has ended or is destroyed. */
  begin(share: EncoderShare, coding: Coding, length: number | undefined, events: EncoderEvents): Encoder | undefined;
  samples(): MetricSample[];
}

export function createCompression(clock: Clock, mostOctets: number = MOST_OCTETS): Compression {
  const accounts = createMemoryShares(mostOctets);
  const networks = createMemoryShares<string>(mostOctets);
  const encoders = new Encoders(clock);
  const begun = new Map<Coding, number>();
  let refused = 0;
  return {
    clock,
    begin({ account, network }, coding, length, events) {
      const octets = ENCODER_OCTETS[coding];
      const hasShare = accounts.take(account, octets);
      if (!hasShare || !networks.take(network, octets)) {
        if (hasShare) accounts.give(account, octets);
        refused++;
        return undefined;
      }
      begun.set(coding, (begun.get(coding) ?? 0) + 1);
      return encoders.begin(account, coding, length, events, () => {
        accounts.give(account, octets);
        networks.give(network, octets);
      });
    },
    samples: () => [
      ...[...begun].map(
        ([coding, value]): MetricSample => ({
          name: 'edge_compressed_total',
          type: 'counter',
          help: 'Responses that the edge compressed',
          labels: { coding },
          value,
        }),
      ),
      {
        name: 'edge_compression_refused_total',
        type: 'counter',
        help: 'Responses that stayed plain because too much was compressed at the time',
        labels: {},
        value: refused,
      },
      {
        name: 'edge_compression_bytes',
        type: 'gauge',
        help: 'Memory of what compresses at present',
        labels: {},
        value: accounts.held,
      },
    ],
  };
}

/** The coding for a response to this request; undefined: the plain form. */
export function codingFor(
  { accepted, httpVersion }: Pick<EdgeRequest, 'accepted' | 'httpVersion'>,
  settings: ServedRoute['settings'],
): Coding | undefined {
  // A body without a length would end with its connection over HTTP/1.0, as if it were cut off.
  if (accepted === undefined || settings.compression !== 'on' || httpVersion === '1.0') return undefined;
  return preferred(accepted, settings.brotli === 'on');
}

/** Few values of `Accept-Encoding` occur, and each is read once. */
const known = new WeakMap<AcceptedCodings, readonly [withBr: Coding | undefined, withoutBr: Coding | undefined]>();

function preferred(accepted: AcceptedCodings, hasBr: boolean): Coding | undefined {
  let both = known.get(accepted);
  if (!both) {
    both = [preferredCoding(accepted, ABLE), preferredCoding(accepted, ABLE_WITHOUT_BR)];
    known.set(accepted, both);
  }
  return both[hasBr ? 0 : 1];
}
