/** A sampled question and its answer in words: for the query log, and for who watches. */
import { printIP } from '../base/ip.js';
import { RCODE_MNEMONICS } from '../dns/codes.js';
import { lowerName, toFqdn } from '../dns/name.js';
import { typeMnemonic } from '../dns/rr/registry.js';
import { questionOf, type Sample, sourceName } from './samples.js';

/** How much of a client's address is told: all of it, its network (/24, /56), or nothing. */
export type ClientDetail = 'full' | 'prefix' | 'none';

export interface SampledQuery {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly client: string;
  readonly protocol: (typeof PROTOCOLS)[number];
  /** In lower case, without its final dot; empty when the question cannot be read. */
  readonly name: string;
  readonly type: string;
  readonly rcode: string;
  /** Of the question: `rd`, `ad`, `cd`, `do`; of the answer: `signed`. */
  readonly flags: readonly string[];
  /** Octets of the answer; 0: none was sent. */
  readonly size: number;
  /** Apex of the zone; empty when none answered. */
  readonly zone: string;
  readonly source: 'plain' | 'flattened' | 'proxied' | 'https';
  readonly tookUs: number;
}

const PROTOCOLS = ['udp', 'tcp', 'tls', 'https'] as const;

export function describeSample(sample: Sample, detail: ClientDetail): SampledQuery {
  const question = questionOf(sample.request);
  return {
    atMs: Math.floor(sample.atUs / 1000),
    client: printClient(sample.client, detail),
    protocol: PROTOCOLS[sample.transport] ?? 'udp',
    name: question ? toFqdn(lowerName(question.name)) : '',
    type: question ? typeMnemonic(question.type) : '',
    rcode: sample.size === 0 ? '' : (RCODE_MNEMONICS[sample.rcode] ?? `RCODE${sample.rcode}`),
    flags: flagsOf(sample),
    size: sample.size,
    zone: sample.apex.length === 0 ? '' : toFqdn(sample.apex),
    source: sourceName(sample.sources),
    tookUs: sample.tookUs,
  };
}

function flagsOf({ request, dnssecOk, signed }: Sample): string[] {
  const flags: string[] = [];
  if (request.length >= 4) {
    if (request[2]! & 0x01) flags.push('rd');
    if (request[3]! & 0x20) flags.push('ad');
    if (request[3]! & 0x10) flags.push('cd');
  }
  if (dnssecOk) flags.push('do');
  if (signed) flags.push('signed');
  return flags;
}

const IPV4_OCTETS = 3;
const IPV6_OCTETS = 7;

function printClient(address: Uint8Array, detail: ClientDetail): string {
  if (detail === 'none' || address.length === 0) return '';
  if (detail === 'full') return printIP(new Uint8Array(address));
  const kept = address.length === 4 ? IPV4_OCTETS : IPV6_OCTETS;
  const network = new Uint8Array(address.length);
  network.set(address.subarray(0, kept));
  return `${printIP(network)}/${kept * 8}`;
}
