/** DMARC policies (RFC 7489 §6.3, §7.1). */
import { isDomain, type PolicyFault, quoted } from './fault.js';
import type { KnownNames } from './known.js';
import { readTags, type TagList } from './tag-list.js';

const POLICIES = ['none', 'quarantine', 'reject'];
const PREFIX = '_dmarc.';
const MOST_DESTINATIONS = 20;

/** Whether a receiver takes this text for a DMARC record: v=DMARC1 comes first (RFC 7489 §6.6.3). */
export function isDmarc(text: string): boolean {
  return /^v[ \t]*=[ \t]*DMARC1[ \t]*(?:;|$)/.test(text);
}

export function dmarcFaults(text: string, name: string, known: KnownNames): PolicyFault[] {
  const what = `the DMARC record at ${name}`;
  const list = readTags(text, what, 'dmarc-syntax');
  if ('code' in list) return [list];
  if (!isDmarc(text)) {
    const said = `${what} does not begin with v=DMARC1, so receivers ignore it`;
    return [{ code: 'dmarc-syntax', text: said, remedy: 'Begin it with v=DMARC1; in this spelling.' }];
  }
  const { tags } = list;
  const faults = [...policyFaults(what, tags), ...valueFaults(what, tags)];
  for (const tag of ['rua', 'ruf']) {
    const value = tags.get(tag);
    if (value !== undefined) faults.push(...reportFaults(what, tag, value, name, known));
  }
  return faults;
}

/** A record that allows reports about another domain (RFC 7489 §7.1). */
export function reportConsentFaults(text: string, name: string): PolicyFault[] {
  if (isDmarc(text)) return [];
  const said = `the record at ${name} does not begin with v=DMARC1, so nobody sends reports because of it`;
  return [{ code: 'dmarc-syntax', text: said, remedy: 'Write v=DMARC1; in its place.' }];
}

function policyFaults(what: string, tags: TagList['tags']): PolicyFault[] {
  const faults: PolicyFault[] = [];
  const policy = tags.get('p');
  if (policy === undefined) {
    const text = `${what} has no p=, so receivers do nothing with it`;
    faults.push({ code: 'dmarc-policy', text, remedy: 'Add p=none, p=quarantine or p=reject behind v=DMARC1;.' });
  }
  for (const tag of ['p', 'sp', 'np']) {
    const value = tags.get(tag);
    if (value === undefined || POLICIES.includes(value.toLowerCase())) continue;
    const text = `${what} says ${tag}=${quoted(value)}, which is not a policy`;
    faults.push({ code: 'dmarc-policy', text, remedy: `Write ${tag}=none, ${tag}=quarantine or ${tag}=reject.` });
  }
  return faults;
}

function valueFaults(what: string, tags: TagList['tags']): PolicyFault[] {
  const faults: PolicyFault[] = [];
  const expect = (tag: string, form: RegExp, remedy: string): void => {
    const value = tags.get(tag);
    if (value === undefined || form.test(value)) return;
    faults.push({ code: 'dmarc-value', text: `${what} says ${tag}=${quoted(value)}, which receivers ignore`, remedy });
  };
  expect('adkim', /^[rs]$/i, 'Write adkim=r or adkim=s.');
  expect('aspf', /^[rs]$/i, 'Write aspf=r or aspf=s.');
  expect('pct', /^(?:\d{1,2}|100)$/, 'Write a number from 0 to 100.');
  expect('ri', /^\d{1,10}$/, 'Write a number of seconds, such as ri=86400.');
  expect('fo', /^[01ds](?:[ \t]*:[ \t]*[01ds])*$/i, 'Write 0, 1, d or s, with colons between them.');
  return faults;
}

function reportFaults(what: string, tag: string, value: string, name: string, known: KnownNames): PolicyFault[] {
  const faults: PolicyFault[] = [];
  for (const uri of value.split(',').slice(0, MOST_DESTINATIONS)) {
    const place = uri.trim();
    const domain = mailboxDomain(place);
    if (domain === undefined) faults.push(badDestination(what, tag, place));
    else {
      const missing = missingConsent(name.slice(PREFIX.length), domain, known);
      if (missing === undefined) continue;
      const text = `${what} sends reports to ${quoted(domain)}, which does not say at ${missing} that it takes them`;
      faults.push({ code: 'dmarc-reports', text, remedy: `Add a TXT record “v=DMARC1;” at ${missing}.` });
    }
  }
  return faults;
}

/** Shared with TLS reports: the domain of `mailto:` and an address. A limit of size may stand behind it. */
export function mailboxDomain(uri: string): string | undefined {
  const [, domain] =
    /^mailto:[^@\s!,;]{1,200}@([^@\s!,;?]{1,254})(?:\?[^!\s]*)?(?:!\d{1,10}[kmgt]?)?$/i.exec(uri) ?? [];
  return domain !== undefined && isDomain(domain) ? domain.toLowerCase().replace(/\.$/, '') : undefined;
}

function badDestination(what: string, tag: string, place: string): PolicyFault {
  const isAddress = /^[^@\s:]{1,200}@[^@\s]{1,254}$/.test(place);
  const text = `${what} says ${tag}=${quoted(place)}, to which nobody sends reports`;
  return {
    code: 'dmarc-reports',
    text,
    remedy: isAddress ? `Write ${tag}=mailto:${place}.` : `Write ${tag}=mailto: and an address.`,
  };
}

/** The name at which a foreign domain would have to allow reports; undefined when it does, or that is not known here. */
function missingConsent(domain: string, destination: string, known: KnownNames): string | undefined {
  if (organisation(domain) === organisation(destination)) return undefined;
  const name = `${domain}._report._dmarc.${destination}`;
  const texts = known.texts(name);
  return texts === undefined || texts.some((text) => isDmarc(text)) ? undefined : name;
}

/** Near enough: who registers names deeper than that knows both of them. */
function organisation(domain: string): string {
  return domain.split('.').slice(-2).join('.');
}
