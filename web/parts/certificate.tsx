/** What several screens say about certificates: their state in words, what proves their names, and what is in them. */
import { useLoad } from '../load.js';
import type { CertificateAuthority, CustomHostname, Pack } from '../types.js';
import { Copyable } from './curl.js';
import { Facts } from './facts.js';
import { Time } from './time.js';

type Tone = 'good' | 'wait' | 'bad';

const BAD = /blocked|failed|timed_out|expired|caa_error|moved|inactive|deactivating/;

export function toneOf(status: string): Tone {
  if (BAD.test(status)) return 'bad';
  return status.startsWith('active') ? 'good' : 'wait';
}

const CERTIFICATE: Readonly<Record<string, string>> = {
  active: 'Valid',
  initializing: 'Being ordered',
  initializing_timed_out: 'Given up',
  pending_validation: 'Waits for proof',
  validation_timed_out: 'Given up',
  pending_issuance: 'Being issued',
  issuance_timed_out: 'Given up',
  pending_deployment: 'On its way to the edge',
  holding_deployment: 'Waits for the hostname',
  deployment_timed_out: 'Not at the edge',
  pending_expiration: 'Ends soon',
  pending_deletion: 'Being removed',
  expired: 'Ended',
  caa_error: 'Forbidden by CAA',
};

/** A status that has no words of its own. */
export function otherwise(status: string): string {
  return status.charAt(0).toUpperCase() + status.slice(1).replaceAll('_', ' ');
}

function certificateInWords(status: string): string {
  return CERTIFICATE[status] ?? otherwise(status);
}

interface ChipProps {
  readonly status: string;
  readonly issuedBy: Issued['issued_by'] | undefined;
}

/** The state of a certificate. One that browsers do not trust is not shown as one that is fine. */
export function CertificateChip({ status, issuedBy }: ChipProps) {
  if (status === 'active' && issuedBy === 'built_in')
    return <span class="chip wait">Valid, not trusted by browsers</span>;
  return <span class={`chip ${toneOf(status)}`}>{certificateInWords(status)}</span>;
}

/** Certificate authorities by their names in the API. */
const AUTHORITIES: Readonly<Record<Pack['certificate_authority'], string>> = {
  google: 'Google Trust Services',
  lets_encrypt: 'Let’s Encrypt',
  ssl_com: 'SSL.com',
  digicert: 'DigiCert',
};

/** What the authority of the installation is called, and what follows from it. */
const BUILT_IN = 'Built-in authority';
export const NOT_TRUSTED =
  'Browsers warn of it: it is from the authority that is built into this server, because no other one is set up.';

interface IssuerProps {
  /** Who was asked for. */
  readonly asked: string;
  readonly issuedBy: Issued['issued_by'] | undefined;
}

/** Who issued a certificate, or who is to issue it. */
export function Issuer({ asked, issuedBy }: IssuerProps) {
  const name = AUTHORITIES[asked as keyof typeof AUTHORITIES] ?? '–';
  if (issuedBy === undefined) return name;
  if (issuedBy === 'uploaded') return 'Uploaded';
  return issuedBy === 'built_in' ? BUILT_IN : AUTHORITIES[issuedBy];
}

/** All of them, to choose one; those that are not set up say who issues in their place. */
export function AuthorityOptions() {
  const { answer } = useLoad<CertificateAuthority[]>('/certificate_authorities');
  const isBuiltIn = (id: string): boolean =>
    answer?.result.some(({ name, issued_by: by }) => name === id && by === 'built_in') ?? false;
  return Object.entries(AUTHORITIES).map(([id, words]) => (
    <option key={id} value={id}>
      {words}
      {isBuiltIn(id) && ' (not set up: the built-in authority issues)'}
    </option>
  ));
}

/** No name is longer, so that nobody can add such a record (RFC 1035 §2.3.4). */
const LONGEST_NAME = 253;

export function fits(name: string): boolean {
  return name.length <= LONGEST_NAME;
}

type Proofs = Pick<Pack, 'validation_records' | 'dcv_delegation_records'>;

/** TXT records that prove the names to the authority. */
export function challengesOf({ validation_records: records = [] }: Proofs): string[] {
  return records.flatMap(({ txt_name: name, txt_value: value }) =>
    name && value && fits(name) ? [`${name}. TXT "${value}"`] : [],
  );
}

/** Addresses and the texts there that prove the names to the authority. */
export function challengeFilesOf({ validation_records: records = [] }: Proofs): string[] {
  return records.flatMap(({ http_url: url, http_body: body }) => (url && body ? [`${url}\n${body}`] : []));
}

/** The records with which later certificates prove themselves. */
export function Delegations({ dcv_delegation_records: records }: Proofs) {
  const lines = records
    .filter(({ cname, cname_target: to }) => fits(cname) && fits(to))
    .map(({ cname, cname_target: to }) => `${cname}. CNAME ${to}.`);
  if (lines.length === 0) return null;
  return (
    <>
      <h3>To leave later certificates to this server</h3>
      <Copyable text={lines.join('\n')} label="record" />
    </>
  );
}

type Issued = Omit<NonNullable<NonNullable<CustomHostname['ssl']>['certificates']>[number], 'issued_on'>;

interface IssuedProps {
  readonly issued: Issued;
  readonly names: readonly string[];
  /** When it was issued or uploaded. */
  readonly since: string;
}

/** What is in a certificate. */
export function IssuedFacts({ issued, names, since }: IssuedProps) {
  return (
    <>
      <Facts
        facts={[
          { name: 'Issued by', value: issued.issuer },
          { name: 'Names', value: names.join(', ') },
          { name: 'Valid since', value: <Time at={since} exact /> },
          { name: 'Ends', value: <Time at={issued.expires_on} exact /> },
          { name: 'Signature', value: issued.signature },
          { name: 'Serial number', value: <code>{issued.serial_number}</code> },
          { name: 'SHA-256', value: <code>{issued.fingerprint_sha256}</code> },
        ]}
      />
      {issued.issued_by === 'built_in' && (
        <p class="hint">
          It was signed by the authority that is built into this server. Browsers trust it only where its{' '}
          <a href="/ca.pem">root certificate</a> was imported. For certificates that everybody trusts, set the directory
          of an authority, for example <code class="flag">--ca-lets-encrypt-directory</code>.
        </p>
      )}
    </>
  );
}
