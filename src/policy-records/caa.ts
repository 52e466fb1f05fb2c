/** CAA properties: how they are written (RFC 8659 §4, RFC 8657, RFC 9495). */
import { latin1Text } from '../dns/presentation.js';
import { type PolicyFault, quoted, trimBlanks } from './fault.js';

export interface IssueValue {
  /** Lower case; empty permits no authority. */
  readonly domain: string;
  readonly parameters: readonly (readonly [tag: string, value: string])[];
}

export interface CaaProperty {
  readonly flags: number;
  readonly tag: string;
  /** Octets as latin1 text. */
  readonly value: string;
}

const CRITICAL = 128;
/** Those with the form of `issue`. */
const ISSUERS: ReadonlySet<string> = new Set(['issue', 'issuewild', 'issuemail', 'issuevmc']);
/** The last ones are of the CA/Browser Forum. */
const TAGS: ReadonlySet<string> = new Set([...ISSUERS, 'iodef', 'contactemail', 'contactphone']);

/** RFC 8659 §4.2: labels, parameter tags, and the octets of a parameter's value. */
const LABEL = '[A-Za-z0-9](?:-*[A-Za-z0-9])*';
const DOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);
const PARAMETER = new RegExp(`^(${LABEL})[ \\t]*=[ \\t]*([\\x21-\\x3a\\x3c-\\x7e]*)$`);

/** The value of `issue` and its like; undefined when it violates the grammar, and so permits nobody (RFC 8659 §4.2). */
export function readIssueValue(text: string): IssueValue | undefined {
  const [domain, ...rest] = text.split(';').map((part) => trimBlanks(part, ' \t'));
  if (domain !== '' && !DOMAIN.test(domain!)) return undefined;
  // A single semicolon without parameters is allowed.
  if (rest.length === 1 && rest[0] === '') rest.pop();
  const parameters: [string, string][] = [];
  for (const parameter of rest) {
    const match = PARAMETER.exec(parameter);
    if (!match) return undefined;
    parameters.push([match[1]!.toLowerCase(), match[2]!]);
  }
  return { domain: domain!.toLowerCase(), parameters };
}

/** Whether nobody may issue because of this property: it is critical, and no authority knows it. */
export function isCriticalUnknown({ flags, tag }: CaaProperty): boolean {
  return (flags & CRITICAL) !== 0 && !TAGS.has(tag.toLowerCase());
}

/** Reads well-formed rdata. */
export function caaProperty(rdata: Uint8Array): CaaProperty {
  const end = 2 + rdata[1]!;
  return { flags: rdata[0]!, tag: latin1Text(rdata.subarray(2, end)), value: latin1Text(rdata.subarray(end)) };
}

export function caaFaults(property: CaaProperty, name: string): PolicyFault[] {
  const { flags, value } = property;
  const tag = property.tag.toLowerCase();
  const what = `the CAA record of ${name}`;
  const faults: PolicyFault[] = [];
  if ((flags & ~CRITICAL) !== 0) {
    const text = `${what} has the flags ${flags}, of which authorities know only ${CRITICAL} (critical)`;
    faults.push({
      code: 'caa-flags',
      text,
      remedy: `Write 0, or ${CRITICAL} if authorities that do not know the tag must not issue.`,
    });
  }
  if (isCriticalUnknown(property)) {
    const text = `${what} has the critical tag ${quoted(tag)}, which authorities do not know, so nobody may issue certificates`;
    faults.push({ code: 'caa-tag', text, remedy: 'Correct the tag, remove the record, or set its flags to 0.' });
  } else if (!TAGS.has(tag)) {
    const text = `${what} has the tag ${quoted(tag)}, which authorities ignore`;
    faults.push({ code: 'caa-tag', text, remedy: 'Write issue, issuewild, issuemail, issuevmc or iodef.' });
  }
  if (ISSUERS.has(tag) && readIssueValue(value) === undefined) {
    const text = `${what} says ${tag} ${quoted(value)}, which names no authority, so it permits nobody`;
    const remedy =
      'Write the domain of the authority, such as letsencrypt.org, then parameters such as “; validationmethods=dns-01”.';
    faults.push({ code: 'caa-value', text, remedy });
  }
  if (tag === 'iodef' && !/^(?:mailto:[^@\s]{1,200}@[^@\s]{1,254}|https?:\/\/\S+)$/i.test(value)) {
    const text = `${what} says iodef ${quoted(value)}, to which no authority reports`;
    faults.push({ code: 'caa-value', text, remedy: 'Write a mailto:, http: or https: URL.' });
  }
  return faults;
}
