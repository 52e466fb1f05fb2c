/** The parts that issue certificates in the admin process, made from settings. */
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { messageOf, UserError } from '../../base/errors.js';
import type { Lifecycle } from '../../base/lifecycle.js';
import { type AuthorityDirectory, createAuthorities } from '../../certs/authorities.js';
import type { AuthorityName } from '../../certs/authority.js';
import { rootCertificatePem } from '../../certs/embedded/issuers.js';
import type { FetchToken } from '../../certs/http-challenge.js';
import type { CertificateContext } from '../../certs/issuance/context.js';
import { AUTHORITY_NAMES } from '../../config/authority-settings.js';
import type { Settings } from '../../config/schema.js';
import type { ContextBase } from '../../control/kernel/context.js';
import type { Propagation } from '../../control/kernel/propagation.js';
import type { Resolver } from '../../resolver/resolve.js';
import { lastChange } from '../../store/log/changes.js';
import type { Vault } from '../../vault/vault.js';

/** How long a step of an order waits for other processes and nodes; nodes report every five seconds at least. */
const EVERYWHERE_MS = 8000;

export interface CertificateParts {
  readonly base: ContextBase;
  readonly vault: Vault;
  readonly resolver: Resolver;
  readonly fetchToken: FetchToken;
  readonly version: string;
  readonly lifecycle: Lifecycle;
  readonly propagation: Propagation;
}

/** Creates the root of the built-in authority if there is none. Throws a UserError for unusable settings. */
export async function createCertificates(settings: Settings, parts: CertificateParts): Promise<CertificateContext> {
  const { base, vault, resolver, fetchToken, version, lifecycle } = parts;
  const { store, clock, random } = base;
  const caBundle = readBundle(settings.caBundle);
  const authorities = createAuthorities({
    store,
    clock,
    random,
    vault,
    resolver,
    fetchToken,
    directories: directoriesOf(settings),
    // Beside the roots that are trusted anyway.
    ...(caBundle !== undefined && { caBundle: [...rootCertificates, caBundle].join('\n') }),
    userAgent: `Zoneplane/${version}`,
  });
  lifecycle.own('certificate authorities', authorities, (part) => part.close());
  await rootCertificatePem({ store, clock, random, vault });
  const defaultOrder = settings.defaultCaOrder as AuthorityName[];
  const whenEverywhere = (zones: readonly number[]): Promise<boolean> => {
    const change = lastChange(store);
    const changes = zones.map((zone) => ({ zone, change }));
    return parts.propagation.whenEverywhere(changes, store.position().number, EVERYWHERE_MS);
  };
  return { ...base, vault, resolver, fetchToken, authorities, defaultOrder, whenEverywhere };
}

/** The authorities that are reached by ACME. */
export function directoriesOf(settings: Settings): ReadonlyMap<AuthorityName, AuthorityDirectory> {
  const given = {
    google: of(settings.caGoogleDirectory, settings.caGoogleContact, settings.caGoogleEabKid, settings.caGoogleEabHmac),
    lets_encrypt: of(
      settings.caLetsEncryptDirectory,
      settings.caLetsEncryptContact,
      settings.caLetsEncryptEabKid,
      settings.caLetsEncryptEabHmac,
    ),
    ssl_com: of(
      settings.caSslComDirectory,
      settings.caSslComContact,
      settings.caSslComEabKid,
      settings.caSslComEabHmac,
    ),
    digicert: of(
      settings.caDigicertDirectory,
      settings.caDigicertContact,
      settings.caDigicertEabKid,
      settings.caDigicertEabHmac,
    ),
  };
  return new Map(AUTHORITY_NAMES.flatMap((name) => (given[name] ? [[name, given[name]] as const] : [])));
}

function of(url?: string, contact?: string, keyId?: string, hmacKey?: string): AuthorityDirectory | undefined {
  if (url === undefined) return undefined;
  const contacts = contact === undefined ? [] : [`mailto:${contact}`];
  if (keyId === undefined || hmacKey === undefined) return { url, contact: contacts };
  return { url, contact: contacts, externalAccount: { keyId, hmacKey } };
}

/** The text of a file of root certificates. Throws a UserError when it cannot be read. */
export function readBundle(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UserError(
      `the root certificates ${file} cannot be read: ${messageOf(error)}`,
      'Check --ca-bundle, and that the user who runs zoneplane may read the file.',
    );
  }
}
