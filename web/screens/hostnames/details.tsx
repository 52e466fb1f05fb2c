/** What a customer may have to copy for a custom hostname, and the certificates that it has. */
import { challengeFilesOf, challengesOf, Delegations, fits, IssuedFacts } from '../../parts/certificate.js';
import { Copyable } from '../../parts/curl.js';
import type { CustomHostname } from '../../types.js';

interface RecordsProps {
  readonly hostname: CustomHostname;
  readonly origin: string | undefined;
}

/** What the customer may have to copy. */
export function Records({ hostname, origin }: RecordsProps) {
  const { ownership_verification: txt, ownership_verification_http: http, ssl } = hostname;
  const target = hostname.ownership_verification_cname?.cname_target ?? origin;
  const challenges = ssl ? challengesOf(ssl) : [];
  const files = ssl ? challengeFilesOf(ssl) : [];
  // What leads here proves itself over HTTP each time.
  const proves = ssl?.method === 'http' && hostname.pointed;
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
      {ssl && !proves && <Delegations {...ssl} />}
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
        <IssuedFacts
          key={certificate.id}
          issued={certificate}
          names={hostname.ssl?.hosts ?? []}
          since={certificate.issued_on}
        />
      ))}
    </>
  );
}
