/**
 * The certificates with which the built-in authority signs: one root, and below it one intermediate for each authority
 * name of the API. They are created when first needed, and again before they are too old. Their names say what they are: none has
 * the name of an authority of somebody else.
 */
import type { webcrypto } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import { invariant } from '../../base/errors.js';
import { makeId, type Random } from '../../base/random.js';
import { type IssuerRow, insertIssuer, issuersOf } from '../../store/certs/authority.js';
import type { Store } from '../../store/driver.js';
import { ISSUER_KEYS } from '../../store/sealed-columns.js';
import type { Vault } from '../../vault/vault.js';
import type { AuthorityName } from '../authority.js';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '../x509.js';

export interface IssuerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** Must have the purpose `authority`. */
  readonly vault: Vault;
}

export interface Issuer {
  readonly certificate: X509Certificate;
  readonly key: webcrypto.CryptoKey;
}

const DAY_MS = 86_400_000;
const ROOT_LIFETIME_MS = 3652 * DAY_MS;
const INTERMEDIATE_LIFETIME_MS = 1826 * DAY_MS;
/** An issuer with less remaining lifetime is replaced, so that everything it signed ends before it. */
const LEAST_REST_MS = 366 * DAY_MS;
/** For clocks that are behind. */
export const BACKDATE_MS = 3_600_000;

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** The intermediate that signs for an authority. */
export async function intermediateOf(options: IssuerOptions, name: AuthorityName): Promise<Issuer> {
  return openIssuer(options, await currentIssuer(options, name));
}

/** The trusted roots, PEM: one, or the old and the new one after nine years. The first is created if there is none. */
export async function rootCertificatePem(options: IssuerOptions): Promise<string> {
  await currentIssuer(options, 'root');
  return storedRootsPem(options.store, options.clock.nowMs());
}

/** The same; empty when there is none yet. */
export function storedRootsPem(store: Store, nowMs: number): string {
  return issuersOf(store, 'root')
    .filter(({ not_after }) => not_after > nowMs)
    .map(({ certificate }) => `${new X509Certificate(new Uint8Array(certificate)).toString('pem')}\n`)
    .join('');
}

async function currentIssuer(options: IssuerOptions, name: AuthorityName | 'root'): Promise<IssuerRow> {
  const { store, clock } = options;
  const findGood = (): IssuerRow | undefined => issuersOf(store, name).findLast((row) => isGood(row, clock.nowMs()));
  const row = findGood();
  if (row) return row;
  const made = await makeIssuer(options, name);
  return store.write(() => {
    // If another process was faster, its issuer stays.
    if (!findGood())
      insertIssuer(store, { ...made, private_key: options.vault.seal(ISSUER_KEYS, made.id, made.private_key) });
    const stored = findGood();
    invariant(stored, `there is an issuer ${name}`);
    return stored;
  });
}

/** Whether it signs now: one that was made while the clock was ahead is not valid yet. */
function isGood(row: IssuerRow, nowMs: number): boolean {
  if (row.not_after <= nowMs + LEAST_REST_MS) return false;
  const { notBefore, subject } = new X509Certificate(new Uint8Array(row.certificate));
  // Former versions named intermediates after the authorities for which they sign.
  return notBefore.getTime() <= nowMs && (row.name === 'root' || !subject.includes(`Zoneplane ${row.name}`));
}

/** The new row; its key is not sealed yet. */
async function makeIssuer(options: IssuerOptions, name: AuthorityName | 'root'): Promise<IssuerRow> {
  const { clock, random } = options;
  const parent = name === 'root' ? undefined : await openIssuer(options, await currentIssuer(options, 'root'));
  const pair = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const startMs = clock.nowMs() - BACKDATE_MS;
  const endMs = Math.min(
    startMs + (parent ? INTERMEDIATE_LIFETIME_MS : ROOT_LIFETIME_MS),
    parent?.certificate.notAfter.getTime() ?? Number.POSITIVE_INFINITY,
  );
  // Distinguishes installations in a list of trusted roots.
  const tag = Buffer.from(random.bytes(3)).toString('hex');
  const subject = parent
    ? `CN=Zoneplane built-in authority ${tag},O=Zoneplane`
    : `CN=Zoneplane root ${tag},O=Zoneplane`;
  const certificate = await X509CertificateGenerator.create({
    serialNumber: randomSerial(random),
    subject,
    issuer: parent ? parent.certificate.subject : subject,
    notBefore: wholeSeconds(startMs),
    notAfter: wholeSeconds(endMs),
    publicKey: pair.publicKey,
    signingKey: parent?.key ?? pair.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: await issuerExtensions(pair.publicKey, parent),
  });
  return {
    id: makeId(clock.nowUs(), random),
    name,
    certificate: new Uint8Array(certificate.rawData),
    private_key: new Uint8Array(await crypto.subtle.exportKey('pkcs8', pair.privateKey)),
    not_after: certificate.notAfter.getTime(),
  };
}

/** RFC 5280 §4.2.1. */
async function issuerExtensions(publicKey: webcrypto.CryptoKey, parent: Issuer | undefined): Promise<Extension[]> {
  const common = [
    new BasicConstraintsExtension(true, parent ? 0 : undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    await SubjectKeyIdentifierExtension.create(publicKey),
  ];
  if (!parent) return common;
  return [
    ...common,
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
    new AuthorityKeyIdentifierExtension(keyIdentifierOf(parent.certificate)),
  ];
}

async function openIssuer({ vault }: IssuerOptions, row: IssuerRow): Promise<Issuer> {
  const pkcs8 = new Uint8Array(vault.open(ISSUER_KEYS, row.id, row.private_key));
  try {
    return {
      certificate: new X509Certificate(new Uint8Array(row.certificate)),
      key: await crypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, false, ['sign']),
    };
  } finally {
    pkcs8.fill(0);
  }
}

/** The key identifier in certificates that an issuer signs, in hexadecimal digits. */
export function keyIdentifierOf(certificate: X509Certificate): string {
  const extension = certificate.getExtension(SubjectKeyIdentifierExtension);
  invariant(extension, 'an issuer has a subject key identifier');
  return extension.keyId;
}

/** 128 random bits (RFC 5280 §4.1.2.2), hexadecimal. */
export function randomSerial(random: Random): string {
  return Buffer.from(random.bytes(16)).toString('hex');
}

/** Certificates have no fractional seconds (RFC 5280 §4.1.2.5). */
export function wholeSeconds(ms: number): Date {
  return new Date(Math.floor(ms / 1000) * 1000);
}
