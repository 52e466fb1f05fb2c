/**
 * What comes next for a custom hostname and who does it, in words: the one rule for the API, the dashboard and the commands.
 * Pure. «You» is who runs the zone, the customer is who owns the hostname.
 */
import type { CertificateState } from '../certs/certificate-state.js';
import type { CertificateError } from '../certs/certificates.js';
import { lookupError } from '../certs/issuance/problems.js';
import type { HostnameState } from '../store/hostnames/hostnames.js';
import { customOriginMissing, fallbackOriginStatus, isOriginFault, NO_FALLBACK_ORIGIN, unresolved } from './texts.js';

export interface HostnameFacts {
  /** As activation.ts keeps it: what is reported may say something about the certificate instead. */
  readonly state: HostnameState;
  readonly hostname: string;
  /** Of the zone that serves it. */
  readonly zone: string;
  /** What the last check found, in the words of texts.ts; of one that is active: why its requests have no origin now. */
  readonly errors: readonly string[];
  /** Name of the TXT record that proves it. */
  readonly txtName: string;
  /** The only name to which it may lead; null: any of the zone. */
  readonly target: string | null;
  readonly fallbackOrigin: string | null;
  readonly origin: string | null;
  /** Whether it was ever seen to lead here. */
  readonly pointed: boolean;
  /** An edge still does what was asked for before the last edit. */
  readonly redeploying: boolean;
  /** Null: none is wanted. Undefined: it is wanted, and nothing is known of it yet. */
  readonly certificate: CertificateState | null | undefined;
}

/** Characters of a name without final dot. */
const LONGEST_NAME = 253;
const NOTHING = 'Nothing has to be done: ';

/** One sentence, or two or three where several people must act. */
export function nextStep(facts: HostnameFacts): string {
  const { state, certificate } = facts;
  switch (state) {
    case 'blocked':
      return 'The owner of the domain must end the hold on it. Then have it checked again.';
    case 'moved':
      return `${steps(facts).join(' ')} Then have it checked again: until then it is not served.`;
    case 'pending':
      return [...steps(facts), ...forCustomer(facts)].join(' ');
    case 'active':
      if (facts.errors.length > 0)
        return `${ownSteps(facts).join(' ')} Until then, requests for ${facts.hostname} fail.`;
      if (certificate === null) return `${NOTHING}it works, over HTTP only, because no certificate was asked for.`;
      return stepOfCertificate(facts)?.text ?? NOTHING + whatWorks(facts);
  }
}

function whatWorks(facts: HostnameFacts): string {
  const { redeploying, pointed, hostname } = facts;
  if (redeploying) return 'it works, and the edge takes over the last edit.';
  return pointed ? 'it works.' : `it works as soon as ${hostname} leads here, by a CNAME record to ${targetOf(facts)}.`;
}

/** Whether it is known that the hostname is meant for the zone, whatever else is missing. */
export function isProven({ state, errors }: Pick<HostnameFacts, 'state' | 'errors'>): boolean {
  return state === 'active' || (state === 'pending' && errors.length > 0 && errors.every(isOriginFault));
}

/** What is missing before the hostname can be active. */
function steps(facts: HostnameFacts): string[] {
  const own = ownSteps(facts);
  return isProven(facts) ? [...own, `${facts.hostname} is proven already.`] : [...own, pointing(facts)];
}

/** What is missing in the zone itself. */
function ownSteps({ zone, errors, fallbackOrigin, origin }: HostnameFacts): string[] {
  return [
    ...(errors.includes(NO_FALLBACK_ORIGIN)
      ? [`You must choose the fallback origin of ${zone}: the proxied record whose server gets the requests.`]
      : []),
    ...(errors.includes(fallbackOriginStatus('initializing'))
      ? [`You must add a proxied A, AAAA or CNAME record for ${fallbackOrigin ?? 'the fallback origin'}.`]
      : []),
    ...(origin !== null && errors.includes(customOriginMissing(origin))
      ? [`You must add an A, AAAA or CNAME record for ${origin}, which gets the requests.`]
      : []),
  ];
}

/** Why the last check could not look the hostname up. */
function failureOf({ hostname, errors }: HostnameFacts): 'servfail' | 'timeout' | undefined {
  return (['servfail', 'timeout'] as const).find((why) => errors.includes(unresolved(hostname, why)));
}

/** Where the hostname is to lead. */
function targetOf({ zone, target, fallbackOrigin }: HostnameFacts): string {
  return target ?? fallbackOrigin ?? `a proxied name of ${zone}`;
}

function pointing(facts: HostnameFacts): string {
  const { hostname, txtName } = facts;
  const failure = failureOf(facts);
  const txt = isTooLong(txtName) ? '' : `, or the TXT record ${txtName}`;
  const act = `Your customer must add a CNAME record from ${hostname} to ${targetOf(facts)}${txt}`;
  if (failure === undefined) return `${act}.`;
  const found = failure === 'servfail' ? 'its name servers fail (SERVFAIL)' : 'its name servers do not answer';
  return `${act}. The last look-up failed: ${found}, or this server does not reach them.`;
}

/** No record can have such a name (RFC 1035 §2.3.4). */
function isTooLong(name: string): boolean {
  return name.length > LONGEST_NAME;
}

interface CertificateStep {
  /** Whether it waits for the customer, or for you, not only for time. */
  readonly waits: boolean;
  readonly text: string;
}

/** What the customer, or you, can do for the certificate before the hostname is active. */
function forCustomer(facts: HostnameFacts): string[] {
  const step = stepOfCertificate(facts);
  const isSaid = failureOf(facts) !== undefined && facts.certificate?.errors.some(isLookup);
  return step?.waits && !isSaid ? [step.text] : [];
}

const later = (text: string): CertificateStep => ({ waits: false, text });
const wait = (text: string): CertificateStep => ({ waits: true, text });

/** Undefined: the certificate is there, or none is wanted. */
function stepOfCertificate(facts: HostnameFacts): CertificateStep | undefined {
  const { hostname, certificate } = facts;
  if (certificate === null) return undefined;
  if (certificate === undefined) return later('This server orders the certificate; nobody has to do anything.');
  const said = saidOf(hostname, certificate);
  switch (certificate.status) {
    case 'active':
      return undefined;
    case 'initializing':
      return said ?? later('This server orders the certificate; nobody has to do anything.');
    case 'pending_validation':
      return said ?? proofOf(facts, certificate);
    case 'pending_issuance':
      return said ?? later('The certificate authority makes the certificate; nobody has to do anything.');
    case 'pending_deployment':
      return later('The certificate is there, and the edge takes it over; nobody has to do anything.');
    case 'deployment_timed_out':
      return wait('The operator of this server must look at the edge, which does not take over the certificate.');
    case 'holding_deployment':
      return later('The certificate that you brought is used as soon as the hostname is active.');
    case 'initializing_timed_out':
    case 'issuance_timed_out':
      return givenUp(said ?? wait('The certificate authority did not issue the certificate in time.'));
    case 'validation_timed_out':
      return givenUp(said ?? wait(`Control over ${hostname} was not proven in time.`));
    case 'caa_error':
      return certificate.serving ? stillWorks(said) : said;
    case 'pending_expiration':
      if (certificate.uploaded) return wait('You must bring another certificate: this one ends soon.');
      return stillWorks(said) ?? later('This server renews the certificate, which ends soon.');
    case 'expired':
      if (certificate.uploaded) return wait('You must bring another certificate: this one has ended.');
      return said ?? later('This server renews the certificate, which has ended.');
  }
}

/** What was in the way last, with who must see to it. */
function saidOf(hostname: string, { errors }: CertificateState): CertificateStep | undefined {
  // The first one of a refusal by CAA only names the host.
  const [error] = errors.filter(({ message }) => !message.startsWith('caa_error:'));
  if (error && isLookup(error)) {
    return wait(
      `For the certificate, the name servers of ${hostname} must answer: at the last look-up they failed, or this server did not reach them. See to that with your customer; it is tried again.`,
    );
  }
  return error && BY[error.actor](sentence(error.message));
}

function isLookup({ message }: CertificateError): boolean {
  return message === lookupError().message;
}

const BY: Readonly<Record<CertificateError['actor'], (message: string) => CertificateStep>> = {
  customer: (message) => wait(`Your customer must act before there is a certificate: ${message}`),
  provider: (message) => wait(`The operator of this server must look at the certificate: ${message}`),
  ca: (message) => later(`Wait for the certificate authority, which is asked again, or choose another one: ${message}`),
};

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function stillWorks(step: CertificateStep | undefined): CertificateStep | undefined {
  return step && { ...step, text: `It works until its certificate ends. ${step.text}` };
}

function givenUp({ text }: CertificateStep): CertificateStep {
  return wait(`${text} This server has given up: have it checked again.`);
}

/** How control over the name is proven to the authority. */
function proofOf({ hostname, pointed }: HostnameFacts, { method, records }: CertificateState): CertificateStep {
  const names = records.flatMap((record) =>
    'txtName' in record && record.status === 'pending' ? [record.txtName] : [],
  );
  const [name] = names;
  if (name !== undefined && isTooLong(name)) {
    return wait(`${hostname} is too long for the TXT record of the authority: you must choose the method http.`);
  }
  if (name !== undefined || method === 'txt') {
    const at = name === undefined ? 'the TXT record of the authority' : `the TXT record ${name}`;
    return wait(`For the certificate, your customer must add ${at}, or delegate it here by a CNAME record, once.`);
  }
  return later(
    pointed
      ? 'This server proves control over the name for the certificate; nobody has to do anything.'
      : `The certificate comes by itself as soon as ${hostname} leads here.`,
  );
}
