/** An authenticator without a device: it makes passkeys and answers with them, also wrongly if a test says so. */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

export interface AnswerChanges {
  readonly origin?: string;
  readonly rpId?: string;
  /** What the authenticator says that it has counted. */
  readonly count?: number;
  readonly userVerified?: boolean;
  readonly challenge?: string;
  readonly type?: string;
}

export interface Authenticator {
  readonly id: string;
  create(options: { readonly challenge: string }, changes?: AnswerChanges): object;
  get(options: { readonly challenge: string }, changes?: AnswerChanges): object;
}

/** Of pages at an origin. */
export function createAuthenticator(own: string): Authenticator {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x, y } = publicKey.export({ format: 'jwk' });
  const cose = Buffer.concat([
    Buffer.from('a5010203262001215820', 'hex'),
    Buffer.from(x!, 'base64url'),
    Buffer.from('225820', 'hex'),
    Buffer.from(y!, 'base64url'),
  ]);
  const octets = randomBytes(32);
  const id = octets.toString('base64url');
  let counted = 0;

  const clientData = (type: string, asked: string, { origin = own, challenge = asked, ...changes }: AnswerChanges) =>
    Buffer.from(JSON.stringify({ type: changes.type ?? type, challenge, origin, crossOrigin: false }));
  const data = (attested: Buffer, changes: AnswerChanges): Buffer => {
    const { rpId = new URL(own).hostname, userVerified = true, count = ++counted } = changes;
    const flags = 1 | (userVerified ? 4 : 0) | (attested.length > 0 ? 64 : 0);
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(count);
    return Buffer.concat([createHash('sha256').update(rpId).digest(), Buffer.of(flags), counter, attested]);
  };

  return {
    id,
    create({ challenge }, changes = {}) {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(octets.length);
      const authData = data(Buffer.concat([Buffer.alloc(16), length, octets, cose]), changes);
      const attestation = Buffer.concat([
        Buffer.from('a363666d74646e6f6e656761747453746d74a0686175746844617461', 'hex'),
        Buffer.of(0x58, authData.length),
        authData,
      ]);
      const response = {
        clientDataJSON: clientData('webauthn.create', challenge, changes).toString('base64url'),
        attestationObject: attestation.toString('base64url'),
        transports: ['internal'],
      };
      return { id, rawId: id, type: 'public-key', response };
    },
    get({ challenge }, changes = {}) {
      const client = clientData('webauthn.get', challenge, changes);
      const authData = data(Buffer.alloc(0), changes);
      const signed = Buffer.concat([authData, createHash('sha256').update(client).digest()]);
      const response = {
        clientDataJSON: client.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: sign('sha256', signed, privateKey).toString('base64url'),
      };
      return { id, rawId: id, type: 'public-key', response };
    },
  };
}
