/** SPF records: what one says (RFC 7208 §4.6, §5, §6, §7, §12). */
import { parseNetwork } from '../base/ip.js';
import { isDomain, MOST_FAULTS, type PolicyFault, quoted } from './fault.js';

/** A term for which a receiver asks the DNS. */
export interface SpfQuestion {
  readonly kind: 'include' | 'redirect' | 'a' | 'mx' | 'ptr' | 'exists';
  readonly term: string;
  /** Lower case, without the final dot; undefined: it depends on the message. */
  readonly domain: string | undefined;
}

export interface Spf {
  readonly faults: readonly PolicyFault[];
  /** In the order in which they are asked, without those that never are. */
  readonly questions: readonly SpfQuestion[];
}

/** Whether a receiver takes this text for an SPF record (RFC 7208 §4.5). */
export function isSpf(text: string): boolean {
  return /^v=spf1(?: |$)/i.test(text);
}

/** Whether somebody meant one. */
export function isMeantAsSpf(text: string): boolean {
  return /^[\s"'“”]{0,8}(?:v\s{0,8}=\s{0,8}spf|spf1\s)/i.test(text);
}

const MECHANISMS = ['all', 'include', 'a', 'mx', 'ptr', 'ip4', 'ip6', 'exists'] as const;
type Mechanism = (typeof MECHANISMS)[number];

const DIRECTIVE = /^([+?~-]?)([a-z][a-z0-9._-]*)(?:([:/])(.*))?$/is;
const MODIFIER = /^([a-z][a-z0-9._-]*)=(.*)$/is;
/** What is often written in place of a mechanism. */
const MEANT: Readonly<Record<string, string>> = {
  ip: 'ip4',
  ipv4: 'ip4',
  ipv6: 'ip6',
  inlcude: 'include',
  spf: 'include',
  host: 'a',
};

/** Reads a record that {@link isSpf} takes for one. */
export function readSpf(text: string, owner: string): Spf {
  return new Reader(owner).read(text);
}

class Reader {
  private readonly faults: PolicyFault[] = [];
  private readonly questions: SpfQuestion[] = [];
  private redirect: SpfQuestion | undefined;
  private readonly modifiers = new Set<string>();
  private all: string | undefined;
  private hasBehindAll = false;

  constructor(private readonly owner: string) {}

  read(text: string): Spf {
    if (/[^\x20-\x7e]/.test(text)) {
      this.broken(
        `the SPF record of ${this.owner} has characters other than printable ASCII`,
        'Replace them; terms are separated by blanks.',
      );
    }
    for (const term of text.slice('v=spf1'.length).split(' ')) {
      if (term !== '') this.readTerm(term);
      if (this.faults.length >= MOST_FAULTS) break;
    }
    this.readEnd();
    const questions = this.all === undefined && this.redirect ? [...this.questions, this.redirect] : this.questions;
    return { faults: this.faults, questions };
  }

  private readTerm(term: string): void {
    const modifier = MODIFIER.exec(term);
    if (modifier) {
      this.readModifier(term, modifier[1]!.toLowerCase(), modifier[2]!);
      return;
    }
    const [, sign = '', name = '', mark, value] = DIRECTIVE.exec(term) ?? [];
    const mechanism = MECHANISMS.find((known) => known === name.toLowerCase());
    if (!mechanism) this.unknown(term, name);
    else if (this.all !== undefined) this.hasBehindAll = true;
    else if (mechanism === 'all') this.readAll(term, sign, mark);
    else this.readMechanism(term, mechanism, mark === '/' ? `/${value}` : value, mark === ':');
  }

  private readAll(term: string, sign: string, mark: string | undefined): void {
    if (mark !== undefined) this.wrong(term, 'all takes no value', 'Write only all, with -, ~ or ? before it.');
    this.all = sign;
    if (sign !== '' && sign !== '+') return;
    this.fault(
      'spf-allows-all',
      `the SPF record of ${this.owner} says with ${quoted(term)} that every machine on the Internet may send its mail`,
      'Write -all or ~all in its place.',
    );
  }

  private readMechanism(
    term: string,
    mechanism: Exclude<Mechanism, 'all'>,
    value: string | undefined,
    hasColon: boolean,
  ): void {
    if (mechanism === 'ip4' || mechanism === 'ip6') {
      this.readNetwork(term, mechanism, value);
      return;
    }
    if (mechanism === 'ptr') this.warnOfPtr();
    const needsDomain = mechanism === 'include' || mechanism === 'exists';
    const [spec, lengths] = mechanism === 'a' || mechanism === 'mx' ? withoutLengths(value ?? '') : [value ?? '', ''];
    if (!areLengths(lengths))
      this.wrong(term, 'the length of its prefix is not valid', 'IPv4 has prefixes up to /32, IPv6 up to //128.');
    if (spec === '' && (needsDomain || hasColon))
      this.wrong(term, 'it names no domain', `Write ${mechanism}:example.net.`);
    else this.ask(mechanism, term, spec);
  }

  private readNetwork(term: string, mechanism: 'ip4' | 'ip6', value = ''): void {
    const network = parseNetwork(value);
    if (network?.address.length === (mechanism === 'ip4' ? 4 : 16)) return;
    const other = network ? (mechanism === 'ip4' ? 'ip6' : 'ip4') : undefined;
    const remedy = other
      ? `Write ${other}: before this address.`
      : `Write an address or a network, such as ${mechanism === 'ip4' ? 'ip4:192.0.2.0/24' : 'ip6:2001:db8::/32'}.`;
    this.wrong(term, `${mechanism} takes an IPv${mechanism.slice(2)} address`, remedy);
  }

  private readModifier(term: string, name: string, value: string): void {
    const mechanism = MECHANISMS.find((known) => known === name || known === MEANT[name]);
    if (mechanism) {
      this.fault(
        'spf-ignored-term',
        `receivers ignore ${quoted(term)} in the SPF record of ${this.owner}`,
        `Write ${mechanism}: with a colon.`,
      );
    }
    if (name !== 'redirect' && name !== 'exp') return;
    if (this.modifiers.has(name)) this.wrong(term, `${name} is there twice`, `Keep one ${name}=.`);
    this.modifiers.add(name);
    const question = this.checkSpec(term, value) && { kind: 'redirect' as const, term, domain: domainOf(value) };
    if (name === 'redirect' && question) this.redirect = question;
  }

  private ask(kind: SpfQuestion['kind'], term: string, spec: string): void {
    if (spec !== '' && !this.checkSpec(term, spec)) return;
    this.questions.push({ kind, term, domain: spec === '' ? this.owner : domainOf(spec) });
  }

  /** Whether a domain-spec (RFC 7208 §7.1) can be asked for. */
  private checkSpec(term: string, spec: string): boolean {
    const left = spec.replace(/%(?:\{[slodihv](?:[1-9]\d{0,2})?r?[.+,/_=-]*\}|[%_-])/gi, '');
    if (left.includes('%')) {
      this.wrong(
        term,
        'it has a macro that does not exist',
        'Macros are letters in braces such as %{i}; a percent sign itself is %%.',
      );
      return false;
    }
    if (left !== spec ? /^[\x21-\x7e]*$/.test(left) : isDomain(spec)) return true;
    this.wrong(term, 'this is not a domain', 'Name a domain; addresses are written with ip4: or ip6:.');
    return false;
  }

  private readEnd(): void {
    if (this.hasBehindAll) {
      this.fault(
        'spf-behind-all',
        `receivers ignore what stands behind all in the SPF record of ${this.owner}`,
        'Move all to the end.',
      );
    }
    if (this.all !== undefined && this.redirect) {
      this.fault(
        'spf-behind-all',
        `receivers ignore redirect beside all in the SPF record of ${this.owner}`,
        'Remove one of them.',
      );
    }
    if (this.all === undefined && !this.modifiers.has('redirect') && this.faults.length === 0) {
      this.fault(
        'spf-without-end',
        `the SPF record of ${this.owner} does not say what happens to mail from other machines`,
        'End it with -all or ~all (RFC 7208 §4.7).',
      );
    }
  }

  private warnOfPtr(): void {
    this.fault(
      'spf-ptr',
      `the SPF record of ${this.owner} uses ptr, which is slow and which receivers may ignore`,
      'Remove ptr, and name the addresses with ip4: and ip6: (RFC 7208 §5.5).',
    );
  }

  private unknown(term: string, name: string): void {
    const meant = MEANT[name.toLowerCase()];
    const remedy = meant ? `Write ${meant}:.` : `Correct or remove it; there are ${MECHANISMS.join(', ')}.`;
    this.wrong(term, 'there is no such mechanism', remedy);
  }

  private wrong(term: string, why: string, remedy: string): void {
    this.broken(`the SPF record of ${this.owner} has ${quoted(term)}: ${why}`, remedy);
  }

  /** Receivers take no part of a record with an error (permerror, RFC 7208 §2.6.7). */
  private broken(text: string, remedy: string): void {
    this.fault('spf-syntax', `${text}; receivers ignore the whole record`, remedy);
  }

  private fault(code: string, text: string, remedy: string): void {
    this.faults.push({ code, text, remedy });
  }
}

function domainOf(spec: string): string | undefined {
  return spec.includes('%') ? undefined : spec.toLowerCase().replace(/\.$/, '');
}

/** The domain of `a` and `mx`, and the lengths of prefixes behind it. */
function withoutLengths(value: string): readonly [spec: string, lengths: string] {
  const [, spec = '', lengths = ''] = /^(.*?)((?:\/\d*){0,3})$/s.exec(value) ?? [];
  return [spec, lengths];
}

function areLengths(text: string): boolean {
  const [, four, six] = /^(?:\/(\d{1,2}))?(?:\/\/(\d{1,3}))?$/.exec(text) ?? [];
  return text === '' || ((four ?? six) !== undefined && Number(four ?? 0) <= 32 && Number(six ?? 0) <= 128);
}
