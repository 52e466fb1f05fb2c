/** Listeners over TLS beside plain ones, with the certificate of the settings or the service's own. */
import { type Answerer, createSecureListener, type SecureListener } from '../../api/secure-listener.js';
import type { Clock } from '../../base/clock.js';
import { messageOf, UserError } from '../../base/errors.js';
import type { Lifecycle } from '../../base/lifecycle.js';
import type { OwnCertificate } from '../../certs/own-certificate.js';
import { listenFor } from '../process/listen.js';
import type { RoleContext } from '../process/role.js';
import { type PemPair, readTlsFiles, watchTlsFiles } from '../process/tls-files.js';
import type { OwnCertificateKeeper } from './own-certificate.js';

/** Where an API listens over TLS; `port` undefined: nowhere. */
interface SecurePlace {
  readonly what: string;
  readonly host: string;
  readonly port: number | undefined;
  readonly settings: string;
}

/** The same API over TLS, if there is a port for it. Rejects with a UserError when it cannot listen. */
export async function startSecureListener(
  {
    settings,
    clock,
    log,
    ownCertificate,
    onReload,
  }: RoleContext & { readonly ownCertificate: OwnCertificateKeeper | undefined },
  { what, host, port, settings: prefix }: SecurePlace,
  answerer: Answerer,
  lifecycle: Lifecycle,
): Promise<string | undefined> {
  const tls = port === undefined ? undefined : readTlsFiles(settings);
  const credentials = tls?.credentials ?? pairOf(ownCertificate?.current);
  if (port === undefined || credentials === undefined) return undefined;
  const listener = createListener(what, answerer, credentials, clock);
  const url = await listenFor(listener, { what: `${what} over HTTPS`, host, port, settings: prefix }, log);
  lifecycle.own(`${what} over HTTPS`, listener, (part) => part.close());
  if (tls)
    lifecycle.own(`certificate of ${what}`, watchTlsFiles(tls.files, listener.renew, clock, log), (end) => end());
  if (tls) onReload(() => listener.renew(readTlsFiles(settings)!.credentials));
  ownCertificate?.onChange((next) => listener.renew(pairOf(next)!));
  return url.replace(/^http:/, 'https:');
}

function pairOf(own: OwnCertificate | undefined): PemPair | undefined {
  return own && { certificate: Buffer.from(own.certificate), key: Buffer.from(own.key) };
}

function createListener(what: string, answerer: Answerer, credentials: PemPair, clock: Clock): SecureListener {
  try {
    return createSecureListener(answerer, credentials, clock);
  } catch (error) {
    throw new UserError(
      `the certificate or key of ${what} cannot be used: ${messageOf(error)}`,
      'Check --tls-cert and --tls-key: both must be PEM files that belong together.',
    );
  }
}
