/** The authorities of this installation: built in, or reached by ACME if a directory is set. */
import { createPrivateKey } from 'node:crypto';
import { findAcmeAccount, insertAcmeAccount } from '../store/certs/issued.js';
import { ACME_ACCOUNT_KEYS } from '../store/sealed-columns.js';
import { type AcmeAuthority, createAcmeAuthority } from './acme/acme-authority.js';
import type { Authority, AuthorityName } from './authority.js';
import { generatePrivateKey } from './csr.js';
import { createEmbeddedAuthority, type EmbeddedOptions } from './embedded/embedded-authority.js';
import type { Authorities } from './issuance/context.js';

/** How an authority is reached. */
export interface AuthorityDirectory {
  readonly url: string;
  /** URIs, such as `mailto:admin@example.com`. */
  readonly contact: readonly string[];
  /** `hmacKey`: base64url, as the authority shows it. */
  readonly externalAccount?: { readonly keyId: string; readonly hmacKey: string };
}

export interface AuthoritiesOptions extends EmbeddedOptions {
  /** Authorities that are not built in. Setting one means agreeing to its terms of service. */
  readonly directories: ReadonlyMap<AuthorityName, AuthorityDirectory>;
  /** Trusted roots for directories, replacing the system's, PEM. */
  readonly caBundle?: string;
  readonly userAgent: string;
}

/** Throws a UserError for invalid settings of a directory when it is first needed. */
export function createAuthorities(options: AuthoritiesOptions): Authorities {
  const { directories } = options;
  const outside = new Map<AuthorityName, Promise<AcmeAuthority>>();
  const reach = (name: AuthorityName, directory: AuthorityDirectory): Promise<AcmeAuthority> => {
    const known = outside.get(name);
    if (known) return known;
    const made = connect(options, name, directory);
    outside.set(name, made);
    made.catch(() => outside.delete(name));
    return made;
  };
  return {
    async of(name): Promise<Authority> {
      const directory = directories.get(name);
      if (directory) return reach(name, directory);
      return createEmbeddedAuthority(name, options);
    },
    isOutside: (name) => directories.has(name),
    async close() {
      const all = await Promise.allSettled(outside.values());
      await Promise.all(all.map((made) => (made.status === 'fulfilled' ? made.value.close() : undefined)));
    },
  };
}

async function connect(
  options: AuthoritiesOptions,
  name: AuthorityName,
  { url, contact, externalAccount }: AuthorityDirectory,
): Promise<AcmeAuthority> {
  const { clock, userAgent, caBundle } = options;
  return createAcmeAuthority({
    name,
    directoryUrl: url,
    accountKey: await accountKey(options, url),
    termsAgreed: true,
    contact,
    ...(externalAccount && { externalAccount }),
    ...(caBundle !== undefined && { caBundle }),
    userAgent,
    clock,
  });
}

/** One for each directory, created when first needed and then kept. */
async function accountKey({ store, vault, random }: AuthoritiesOptions, directory: string) {
  if (!findAcmeAccount(store, directory)) {
    const made = (await generatePrivateKey()).export({ format: 'der', type: 'pkcs8' });
    const id = random.uuid();
    await store.write(() => {
      const private_key = vault.seal(ACME_ACCOUNT_KEYS, id, new Uint8Array(made));
      insertAcmeAccount(store, { id, directory, private_key });
    });
  }
  const row = findAcmeAccount(store, directory)!;
  const plain = vault.open(ACME_ACCOUNT_KEYS, row.id, new Uint8Array(row.private_key));
  return createPrivateKey({ key: Buffer.from(plain), format: 'der', type: 'pkcs8' });
}
