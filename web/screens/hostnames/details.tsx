/** What a customer may have to copy for a custom hostname, and the certificates that it has. */
import { Copyable } from '../../parts/curl.js';
import { Facts } from '../../parts/facts.js';
import { Time } from '../../parts/time.js';
import type { CustomHostname } from '../../types.js';

/** No name is longer, so that nobody can add such a record (RFC 1035 §2.3.4). */
const LONGEST_NAME = 253;

interface RecordsProps {
  readonly hostname: CustomHostname;
  readonly origin: string | undefined;
}

/** What the customer may have to copy. */
export function Records({ hostname, origin }: RecordsProps) {
  const { ownership_verification: txt, ownership_verification_http: http, ssl } = hostname;
  const fits = (name: string): boolean => name.length <= LONGEST_NAME;
  const target = hostname.ownership_verification_cname?.cname_target ?? origin;
  const records = ssl?.validation_records ?? [];
  const challenges = records.flatMap(({ txt_name: name, txt_value: value }) =>
    name && value && fits(name) ? [`${name}. TXT "${value}"`] : [],
  );
  const files = records.flatMap(({ http_url: url, http_body: body }) => (url && body ? [`${url}\n${body}`] : []));
  // What leads here proves itself over HTTP each time.
  const proves = ssl?.method === 'http' && hostname.pointed;
  const delegations = (proves ? [] : (ssl?.dcv_delegation_records ?? []))
    .filter(({ cname, cname_target: to }) => fits(cname) && fits(to))
    .map(({ cname, cname_target: to }) => `${cname}. CNAME ${to}.`);
  // A hold comes before any proof.
  const isProven = hostname.proven || hostname.status === 'blocked';
  return (
    <>
      {hostname.proven && !hostname.pointed && target !== undefined && (
        <>
          <h3>For your customer: the record that brings the requests here</h3>
          <Copyable text={`${hostname.hostname}. CNAME ${target}.`} label="CNAME record" />
        </>
      )}
      {!isProven && (
        <>
          <h3>For your customer: one of these proves the name</h3>
          {target !== undefined && (
            <>
              <p class="hint">The record that also brings the requests here:</p>
              <Copyable text={`${hostname.hostname}. CNAME ${target}.`} label="CNAME record" />
            </>
          )}
          {fits(txt.name) && (
            <>
              <p class="hint">{target === undefined ? 'A' : 'Or a'} TXT record, before anything leads here:</p>
              <Copyable text={`${txt.name}. TXT "${txt.value}"`} label="TXT record" />
            </>
          )}
          <p class="hint">Or this text at this address:</p>
          <Copyable text={`${http.http_url}\n${http.http_body}`} label="address and text" />
        </>
      )}
      {ssl && ssl.status !== 'active' && challenges.length > 0 && (
        <>
          <h3>For the certificate</h3>
          <Copyable text={challenges.join('\n')} label="records" />
        </>
      )}
      {ssl && ssl.status !== 'active' && !hostname.pointed && files.length > 0 && (
        <>
          <h3>For the certificate, before the name leads here</h3>
          <p class="hint">This text at this address. Once the name leads here, nothing has to be done for that.</p>
          <Copyable text={files.join('\n')} label="address and text" />
        </>
      )}
      {delegations.length > 0 && (
        <>
          <h3>To leave later certificates to this server</h3>
          <Copyable text={delegations.join('\n')} label="record" />
        </>
      )}
    </>
  );
}

export function Certificates({ hostname }: { readonly hostname: CustomHostname }) {
  const list = hostname.ssl?.certificates ?? [];
  if (list.length === 0) return null;
  return (
    <>
      <h3>{list.length === 1 ? 'Certificate' : 'Certificates'}</h3>
      {list.map((certificate) => (
        <Facts
          key={certificate.id}
          facts={[
            { name: 'Issued by', value: certificate.issuer },
            { name: 'Names', value: (hostname.ssl?.hosts ?? []).join(', ') },
            { name: 'Valid since', value: <Time at={certificate.issued_on} exact /> },
            { name: 'Ends', value: <Time at={certificate.expires_on} exact /> },
            { name: 'Signature', value: certificate.signature },
            { name: 'Serial number', value: <code>{certificate.serial_number}</code> },
            { name: 'SHA-256', value: <code>{certificate.fingerprint_sha256}</code> },
          ]}
        />
      ))}
    </>
  );
}
