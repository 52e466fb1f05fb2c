/** The records of a zone in PowerDNS's database as a zone file. */
import type { ZoneStatement } from '../configuration.js';
import type { RecordRow } from './database.js';

const PRIORITY_IN_FRONT = new Set(['MX', 'SRV']);
/** Types that PowerDNS answers with something else. */
const OWN_TYPES = new Set(['ALIAS', 'LUA', 'URL', 'MBOXFW', 'CURL', 'FANCY', 'ADDR', 'WKS2']);
const DEFAULT_TTL = 3600;
/** Fields of a SOA that are not stored: serial, refresh, retry, expire, minimum. */
const SOA_DEFAULTS = ['0', '10800', '3600', '604800', '3600'] as const;
/** Characters that would begin something else in a zone file. */
const NOT_IN_NAMES = /[\s;"()@$]/;

/** All names are absolute there, with or without a final dot. */
export function zoneText(zone: string, records: readonly RecordRow[]): Pick<ZoneStatement, 'source' | 'refusal'> {
  const lines = ['$ORIGIN .'];
  for (const { name, type, ttl, prio, content } of records) {
    // A name without records that has others below it.
    if (!type) continue;
    const mnemonic = type.toUpperCase();
    const what = `${name} ${mnemonic}`;
    if (OWN_TYPES.has(mnemonic)) {
      return refuse(`${what}: only PowerDNS has this type`, 'Replace these records by others first.');
    }
    if (NOT_IN_NAMES.test(name) || !/^[A-Z0-9-]+$/.test(mnemonic) || /[\r\n]/.test(content ?? '')) {
      return refuse(`${JSON.stringify(what)} is not a record of a zone file`, 'Correct it with pdnsutil edit-zone.');
    }
    const written =
      PRIORITY_IN_FRONT.has(mnemonic) && prio !== null ? withPriority(prio, content ?? '') : (content ?? '');
    const data = mnemonic === 'SOA' ? wholeSoa(written) : written;
    lines.push(`${name.replace(/\.$/, '')}. ${ttl ?? DEFAULT_TTL} IN ${mnemonic} ${data}`);
  }
  if (lines.length === 1) return refuse(`${zone} has no records`, 'Delete it there, or add its SOA.');
  return { source: { text: `${lines.join('\n')}\n` } };
}

function refuse(text: string, remedy: string): Pick<ZoneStatement, 'refusal'> {
  return { refusal: { text, remedy } };
}

/** Older databases have it in the content, too: then there is a field more. */
function withPriority(prio: number, content: string): string {
  const fields = content.trim().split(/\s+/).length;
  return fields === 2 && /^\d+\s/.test(content) ? content : fields === 4 ? content : `${prio} ${content}`;
}

function wholeSoa(content: string): string {
  const [primary = '.', mailbox = '.', ...numbers] = content.trim().split(/\s+/);
  const rest = SOA_DEFAULTS.map((usual, index) => numbers[index] ?? usual);
  return [primary, mailbox.replace('@', '.'), ...rest].join(' ');
}
