/** DKIM keys (RFC 6376 §3.6.1, RFC 8301, RFC 8463). */
import { rsaBits } from './der.js';
import { type PolicyFault, quoted } from './fault.js';
import { readTags, type TagList } from './tag-list.js';

const LEAST_BITS = 1024;
/** More than this need not be verified (RFC 8301 §3.2). */
const MOST_BITS = 4096;
const ED25519_OCTETS = 32;

export function dkimFaults(text: string, name: string): PolicyFault[] {
  const what = `the DKIM key at ${name}`;
  const fault = (code: string, said: string, remedy: string): PolicyFault => ({ code, text: said, remedy });
  const list = readTags(text, what, 'dkim-syntax');
  if ('code' in list) return [list];
  const { tags, first } = list;
  const version = tags.get('v');
  if (version !== undefined && (version !== 'DKIM1' || !/^v[ \t]*=/.test(first))) {
    const remedy = version.startsWith('DKIM1')
      ? 'Put v=DKIM1; with its semicolon at the beginning.'
      : 'Begin it with v=DKIM1;.';
    return [
      fault(
        'dkim-syntax',
        `${what} says v=${quoted(version)} where v=DKIM1 must come first; receivers ignore it`,
        remedy,
      ),
    ];
  }
  const key = tags.get('p');
  if (key === undefined) {
    return [
      fault('dkim-syntax', `${what} has no p=, and receivers ignore it`, 'Add p= with the public key in base 64.'),
    ];
  }
  const faults = key === '' ? [] : keyFaults(what, tags.get('k') ?? 'rsa', key.replace(/[ \t\r\n]+/g, ''));
  return [...faults, ...useFaults(what, tags)];
}

/** What a key says about its use: hashes, services, trials. */
function useFaults(what: string, tags: TagList['tags']): PolicyFault[] {
  const faults: PolicyFault[] = [];
  const fault = (code: string, text: string, remedy: string): void => void faults.push({ code, text, remedy });
  const hashes = listOf(tags.get('h'));
  if (hashes && !hashes.includes('sha256')) {
    const said = `${what} allows only ${quoted(hashes.join(':'))}, and nobody signs or verifies with that any more`;
    fault('dkim-hash', said, 'Remove h=, or write h=sha256 (RFC 8301).');
  }
  const services = listOf(tags.get('s'));
  if (services && !services.includes('*') && !services.includes('email')) {
    const said = `${what} is not for mail: it says s=${quoted(services.join(':'))}`;
    fault('dkim-service', said, 'Remove s=, or write s=email.');
  }
  if (listOf(tags.get('t'))?.includes('y')) {
    const said = `${what} says with t=y that it is only being tried, so its signatures count for nothing`;
    fault('dkim-testing', said, 'Remove t=y when the trial is over.');
  }
  return faults;
}

/** Lower case; colons stand between the items. */
function listOf(value: string | undefined): string[] | undefined {
  return value?.split(':').map((item) => item.trim().toLowerCase());
}

function keyFaults(what: string, kind: string, key: string): PolicyFault[] {
  const fault = (code: string, text: string, remedy: string): PolicyFault[] => [{ code, text, remedy }];
  const copyAgain = 'Copy the whole key again, without blanks or quotes inside.';
  if (kind !== 'rsa' && kind !== 'ed25519') {
    return fault(
      'dkim-key',
      `${what} is of the kind ${quoted(kind)}, which receivers do not know`,
      'Write k=rsa or k=ed25519.',
    );
  }
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(key)) {
    const at = key.replace(/^[A-Za-z0-9+/]*/, '').slice(0, 1);
    return fault('dkim-key', `${what} has ${quoted(at)} in p=, which does not belong there in base 64`, copyAgain);
  }
  if (key.length % 4 !== 0) {
    return fault(
      'dkim-key',
      `${what} is damaged: the ${key.length} characters of p= are not a multiple of four`,
      copyAgain,
    );
  }
  const octets = Buffer.from(key, 'base64');
  if (kind === 'ed25519') {
    if (octets.length === ED25519_OCTETS) return [];
    const text = `${what} has ${octets.length} octets, but an Ed25519 key has ${ED25519_OCTETS}`;
    return fault(
      'dkim-key',
      text,
      'Put only the raw public key in p=, without the header of a PEM file (RFC 8463 §3).',
    );
  }
  if (octets.length === ED25519_OCTETS) {
    return fault('dkim-key', `${what} looks like an Ed25519 key but is read as RSA`, 'Add k=ed25519.');
  }
  const bits = rsaBits(octets);
  if (bits === undefined) return fault('dkim-key', `${what} is damaged or cut off: p= holds no RSA key`, copyAgain);
  if (bits < LEAST_BITS) {
    return fault(
      'dkim-key-weak',
      `${what} has only ${bits} bits, and receivers do not accept its signatures`,
      'Make a key of 2048 bits (RFC 8301).',
    );
  }
  if (bits <= MOST_BITS) return [];
  return fault(
    'dkim-key-long',
    `${what} has ${bits} bits, and receivers need not verify more than ${MOST_BITS}`,
    'Make a key of 2048 bits (RFC 8301).',
  );
}
