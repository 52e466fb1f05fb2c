/** An authority that is reached by ACME (RFC 8555): a public one or a private one. */
import { type KeyObject, X509Certificate } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import { UserError } from '../../base/errors.js';
import { type Authority, AuthorityError, type AuthorityName, CAA_IDENTITIES } from '../authority.js';
import { listUnfinishedOrders } from './account-orders.js';
import { certificateIdentifier } from './certificate-identifier.js';
import { createDirectory, type Directory } from './directory.js';
import { createAccountKey } from './jws.js';
import { readAuthorization, readChallenge, readOrder, readRenewalWindow } from './objects.js';
import { refusal, unexpectedAnswer } from './problem.js';
import { createSession, isProblem } from './session.js';
import { createTransport, isSecureUrl } from './transport.js';

export interface AcmeOptions {
  readonly name: AuthorityName;
  readonly directoryUrl: string;
  /** A private P-256 key; a string is PEM. */
  readonly accountKey: KeyObject | string;
  /**
   * Whether the operator agreed to the terms of service. Without that, no account is created if the authority has
   * terms.
   */
  readonly termsAgreed: boolean;
  /** URIs, such as `mailto:admin@example.com`. */
  readonly contact?: readonly string[];
  /** For authorities that require it (RFC 8555 §7.3.4). `hmacKey`: base64url, as the authority shows it. */
  readonly externalAccount?: { readonly keyId: string; readonly hmacKey: string };
  /** Trusted roots for the directory, replacing the system's: PEM, one or more. */
  readonly caBundle?: string;
  readonly userAgent: string;
  readonly clock: Clock;
  /** Milliseconds for one request. */
  readonly timeoutMs?: number;
}

export interface AcmeAuthority extends Authority {
  /** Aborts running requests and closes all connections. */
  close(): Promise<void>;
}

/** Sends no request yet. Throws a {@link UserError} for an invalid setting. */
export function createAcmeAuthority(options: AcmeOptions): AcmeAuthority {
  const { name, clock, directoryUrl } = options;
  checkSettings(options);
  const key = createAccountKey(options.accountKey);
  const transport = createTransport(options);
  const directory = createDirectory(transport, directoryUrl, clock);
  const account = {
    key,
    contact: options.contact ?? [],
    termsAgreed: options.termsAgreed,
    ...(options.externalAccount && { externalAccount: decodeExternalAccount(options.externalAccount) }),
  };
  const session = createSession(transport, directory, account, clock);
  const { account: accountUri, post } = session;

  return {
    name,
    async caaIdentities() {
      const { caaIdentities } = (await directory()).meta;
      return caaIdentities.length > 0 ? caaIdentities : CAA_IDENTITIES[name];
    },
    accountUri,
    async createOrder(names, { replaces, profile, notAfterMs } = {}) {
      const { newOrder, renewalInfo, meta } = await directory();
      if (profile !== undefined) refuseUnknownProfile(profile, meta.profiles);
      const answer = await post(newOrder, {
        identifiers: names.map((value) => ({ type: 'dns', value })),
        ...(replaces !== undefined && renewalInfo !== undefined && { replaces }),
        ...(profile !== undefined && { profile }),
        ...(notAfterMs !== undefined && { notAfter: printInstant(notAfterMs) }),
      });
      const location = answer.header('location');
      if (location && isSecureUrl(location)) return readOrder(answer, location, clock.nowMs());
      throw unexpectedAnswer(answer, clock.nowMs(), 'the URL of the order was expected');
    },
    unfinishedOrders: (names) => listUnfinishedOrders(session, names, clock.nowMs()),
    order: async (url) => readOrder(await post(url), url, clock.nowMs()),
    authorization: async (url) => readAuthorization(await post(url), clock.nowMs()),
    keyAuthorization: (token) => `${token}.${key.thumbprint}`,
    respond: async (challengeUrl) => readChallenge(await post(challengeUrl, {}), clock.nowMs()),
    async finalize({ url, finalizeUrl }, csr) {
      return readOrder(await post(finalizeUrl, { csr: base64url(csr) }), url, clock.nowMs());
    },
    async certificate(certificateUrl) {
      const answer = await post(certificateUrl, undefined, PEM_CHAIN);
      if (answer.contentType === PEM_CHAIN) return answer.body;
      throw unexpectedAnswer(answer, clock.nowMs(), 'a chain of certificates was expected');
    },
    async revoke(certificate, reason) {
      const { revokeCert } = await directory();
      try {
        await post(revokeCert, { certificate: base64url(certificate), ...(reason !== undefined && { reason }) });
      } catch (error) {
        if (!isProblem(error, 'alreadyRevoked')) throw error;
      }
    },
    async renewalInfo(certificate) {
      const { renewalInfo } = await directory();
      const identifier = certificateIdentifier(certificate);
      if (renewalInfo === undefined || identifier === undefined) return undefined;
      const url = `${renewalInfo.replace(/\/$/, '')}/${identifier}`;
      const answer = await transport.send({ method: 'GET', url, accept: 'application/json' });
      if (answer.status >= 300) throw refusal(answer, clock.nowMs());
      return readRenewalWindow(answer, clock.nowMs());
    },
    close: () => transport.close(),
  };
}

const PEM_CHAIN = 'application/pem-certificate-chain';

function checkSettings({ directoryUrl, caBundle }: AcmeOptions): void {
  if (!isSecureUrl(directoryUrl)) {
    throw new UserError(
      `the directory of a certificate authority must be an https URL, not '${directoryUrl}'`,
      'http is only accepted for this machine itself, such as http://127.0.0.1:14000/dir',
    );
  }
  if (caBundle === undefined) return;
  try {
    new X509Certificate(caBundle);
  } catch {
    throw new UserError('the bundle of trusted roots for the certificate authority contains no PEM certificate');
  }
}

function decodeExternalAccount({ keyId, hmacKey }: { readonly keyId: string; readonly hmacKey: string }) {
  if (keyId === '' || !/^[A-Za-z0-9_-]+={0,2}$/.test(hmacKey)) {
    throw new UserError(
      'the external account of the certificate authority must have a key identifier and an HMAC key in base64url',
      'copy both as the authority shows them',
    );
  }
  return { keyId, hmacKey: new Uint8Array(Buffer.from(hmacKey, 'base64url')) };
}

/** Clients must not request a profile that is not offered (draft-ietf-acme-profiles §4). */
function refuseUnknownProfile(profile: string, offered: Directory['meta']['profiles']): void {
  if (Object.hasOwn(offered, profile)) return;
  const names = Object.keys(offered);
  const detail =
    names.length === 0
      ? `The certificate authority offers no profiles, so not '${profile}'.`
      : `The certificate authority offers the profiles ${names.join(', ')}, not '${profile}'.`;
  throw new AuthorityError({ type: 'invalidProfile', detail, status: 0, subproblems: [] });
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}

/** RFC 3339, whole seconds. */
function printInstant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
