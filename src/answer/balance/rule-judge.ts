/**
 * Conditions of rules of load balancers, of questions. A condition is compiled when it is first met; nodes never change within a
 * generation of the image. Texts are made only for names whose load balancers have rules.
 */
import { CONDITION_FIELDS } from '../../balancing/condition-fields.js';
import { toFqdn } from '../../dns/name.js';
import { type Condition, compileExpression } from '../../expressions/compile.js';
import { fieldTable } from '../../expressions/fields.js';
import { BalanceWord, nodeNameAt, nodeNameLength } from '../../image/layout.js';
import type { ImageReader } from '../../image/reader.js';
import type { Judge } from '../../steering/choice.js';
import { textOfCode } from '../../steering/layout.js';
import type { Query } from '../query.js';
import type { Client } from '../transport.js';
import type { Subnet } from './client-subnet.js';

/** What a question is judged by; refilled. */
interface Question {
  balancer: string;
  region: string;
  query: Query | undefined;
  client: Client | undefined;
  subnet: Subnet | undefined;
}

const TRUE = (): boolean => true;
const FALSE = (): boolean => false;

/** The HTTP fields have no value for a DNS question. */
const FIELDS = fieldTable<Question, typeof CONDITION_FIELDS>(CONDITION_FIELDS, {
  'cf.load_balancer.name': { type: 'text', of: ({ balancer }) => balancer },
  'cf.load_balancer.region': { type: 'text', of: ({ region }) => region || undefined },
  'ip.src': { type: 'address', of: ({ client }) => client && addressOf(client.source, client.at, client.length) },
  'dns.qry.name': { type: 'text', of: ({ query }) => query && nameOf(query.name, query.nameLength) },
  'dns.qry.type': { type: 'number', of: ({ query }) => query?.type },
  'dns.rr.opt.client': { type: 'truth', of: ({ subnet }) => subnet && subnet.source > 0 },
  'dns.rr.opt.client.addr': { type: 'address', of: ({ subnet }) => subnet && subnetAddress(subnet) },
});

function addressOf(octets: Uint8Array, at: number, length: number): Uint8Array | undefined {
  return length === 0 ? undefined : octets.subarray(at, at + length);
}

function subnetAddress({ address, length, source }: Subnet): Uint8Array | undefined {
  return source === 0 ? undefined : addressOf(address, 0, length);
}

/** Without the final dot. */
function nameOf(wire: Uint8Array, length: number): string {
  // Copied, because the memory may be shared.
  return toFqdn(wire.slice(0, length)).replace(/\.$/, '');
}

export interface RuleJudge extends Judge {
  /** Before a question is judged. `node`, `block`: of its load balancer. `region`: code of the asker's. */
  begin(
    image: ImageReader,
    node: number,
    block: number,
    query: Query,
    client: Client,
    subnet: Subnet,
    region: number,
  ): void;
}

export function createRuleJudge(): RuleJudge {
  let generation = -1;
  let keptOctets = 0;
  const known = new Map<number, readonly Condition<Question>[]>();
  const question: Question = { balancer: '', region: '', query: undefined, client: undefined, subnet: undefined };
  let conditions: readonly Condition<Question>[] = [];
  return {
    begin(image, node, block, query, client, subnet, region) {
      if (image.generation !== generation) {
        known.clear();
        keptOctets = 0;
        generation = image.generation;
      }
      let found = known.get(node);
      if (!found) {
        found = conditionsOf(image, block);
        if (keptOctets > MOST_KEPT) known.clear();
        keptOctets = (known.size === 0 ? 0 : keptOctets) + image.words[block + BalanceWord.conditions]!;
        known.set(node, found);
      }
      conditions = found;
      const at = nodeNameAt(image.words, node);
      question.balancer = nameOf(image.bytes.subarray(at), nodeNameLength(image.words, node));
      question.region = textOfCode(region);
      question.query = query;
      question.client = client;
      question.subnet = subnet;
    },
    holds: (rule) => conditions[rule]?.(question) ?? false,
  };
}

/** Octets of texts whose conditions a thread keeps; at this size it drops all of them. */
const MOST_KEPT = 16 * 1024 * 1024;

/** One that cannot be understood never holds: it was checked before it was stored. */
function conditionsOf(image: ImageReader, block: number): readonly Condition<Question>[] {
  const length = image.words[block + BalanceWord.conditions]!;
  if (length === 0) return [];
  const at = (block + image.words[block + BalanceWord.conditionsAt]!) * 4;
  // Decoded from a copy, because the memory is shared.
  const texts = JSON.parse(Buffer.from(image.bytes.slice(at, at + length)).toString()) as string[];
  return texts.map((text) => {
    if (text === '') return TRUE;
    const compiled = compileExpression(text, FIELDS);
    return compiled.ok ? compiled.holds : FALSE;
  });
}
