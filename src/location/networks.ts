/**
 * Places of an operator's own networks: lines of a network, a country and a region, such as `10.1.0.0/16 DE WEU`. The longest network
 * that contains an address decides.
 */
import { type Network, parseNetwork } from '../base/ip.js';

/** A line that says nothing of its own is `-`. */
export interface PlacedNetwork {
  readonly network: Network;
  readonly country: string | undefined;
  readonly region: string | undefined;
}

export interface NetworkFault {
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

const MOST_NETWORKS = 10_000;

/** Reads the text of a file. Empty lines and what follows `#` are left out. */
export function parsePlacedNetworks(
  text: string,
  regions: readonly string[],
): { readonly networks: readonly PlacedNetwork[]; readonly faults: readonly NetworkFault[] } {
  const networks: PlacedNetwork[] = [];
  const faults: NetworkFault[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const words = line.replace(/#.*/, '').trim().split(/\s+/);
    if (words[0] === '') continue;
    const found = placedNetwork(words, regions);
    if (typeof found === 'string') faults.push({ line: index + 1, message: found });
    else if (networks.length === MOST_NETWORKS) {
      faults.push({ line: index + 1, message: `there are more than ${MOST_NETWORKS} networks` });
      break;
    } else networks.push(found);
  }
  return { networks, faults };
}

function placedNetwork(words: readonly string[], regions: readonly string[]): PlacedNetwork | string {
  const [cidr = '', country = '-', region = '-', ...rest] = words;
  const network = parseNetwork(cidr);
  if (!network) return `'${cidr.slice(0, 64)}' is not a network such as 10.0.0.0/8`;
  const { address, bits } = network;
  const canonical = address.every((octet, i) => {
    const kept = Math.max(0, Math.min(8, bits - i * 8));
    return (octet & (0xff >>> kept)) === 0;
  });
  if (!canonical) return `'${cidr}' has bits behind its prefix of ${bits}`;
  if (country !== '-' && !/^[A-Za-z]{2}$/.test(country)) return `'${country.slice(0, 64)}' is not a country such as DE`;
  if (region !== '-' && !regions.includes(region.toUpperCase()))
    return `'${region.slice(0, 64)}' is not one of ${regions.join(' ')}`;
  if (rest.length > 0) return 'a line has a network, a country and a region';
  return {
    network,
    country: country === '-' ? undefined : country.toUpperCase(),
    region: region === '-' ? undefined : region.toUpperCase(),
  };
}

const WORDS = 3;
const VALUE = 2;

/** The networks as a tree of bits, so that finding one takes no longer with thousands of them, and allocates nothing. */
export class NetworkTree {
  /** For each node both children, 0 for none, and the number of its network and 1, 0 for none. Roots: IPv4, IPv6. */
  private nodes = new Int32Array(WORDS * 64);
  private count = 2;
  /** How many bits the last search looked at. */
  depth = 0;

  constructor(networks: readonly PlacedNetwork[]) {
    for (const [index, { network }] of networks.entries()) this.add(network, index + 1);
  }

  /** Index of the longest network that contains an address, 4 or 16 octets at `at`; -1 for none. */
  find(address: Uint8Array, at: number, length: number): number {
    const { nodes } = this;
    let node = (length === 4 ? 0 : 1) * WORDS;
    let found = nodes[node + VALUE]!;
    let depth = 0;
    for (; depth < length * 8; depth++) {
      if (nodes[node] === 0 && nodes[node + 1] === 0) break;
      const next = nodes[node + ((address[at + (depth >> 3)]! >>> (7 - (depth & 7))) & 1)]!;
      if (next === 0) {
        depth++;
        break;
      }
      node = next;
      if (nodes[node + VALUE] !== 0) found = nodes[node + VALUE]!;
    }
    this.depth = depth;
    return found - 1;
  }

  private add({ address, bits }: Network, value: number): void {
    let node = (address.length === 4 ? 0 : 1) * WORDS;
    for (let depth = 0; depth < bits; depth++) {
      const child = node + ((address[depth >> 3]! >>> (7 - (depth & 7))) & 1);
      if (this.nodes[child] === 0) {
        const added = this.append();
        this.nodes[child] = added;
      }
      node = this.nodes[child]!;
    }
    this.nodes[node + VALUE] = value;
  }

  private append(): number {
    const node = this.count++ * WORDS;
    if (node + WORDS > this.nodes.length) {
      const grown = new Int32Array(this.nodes.length * 2);
      grown.set(this.nodes);
      this.nodes = grown;
    }
    return node;
  }
}
