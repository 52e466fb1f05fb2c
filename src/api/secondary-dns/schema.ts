/** Shapes of secondary DNS (v4: secondary DNS): keys, networks, peers, and the transfers of a zone. */
import { z } from 'zod';
import { accountParams } from '../accounts/schema.js';
import { listOf } from '../body-schema.js';
import { identifier, time } from '../schema.js';
import { policy, policyInput } from '../tokens/schema.js';

export const tsigParams = accountParams.extend({ tsig_id: identifier('TSIG key') });
export const aclParams = accountParams.extend({ acl_id: identifier('ACL') });
export const peerParams = accountParams.extend({ peer_id: identifier('peer') });

const name = z.string({ error: 'a text' });

export const tsig = z
  .object({
    id: z.string(),
    name: z.string(),
    algo: z.string(),
    secret: z.string().describe('Base 64; empty for a credential that may not change keys'),
    policies: z.array(policy).describe('What the key may change by dynamic update (RFC 2136); an extension of v4'),
  })
  .meta({ id: 'TsigKey' });

export const tsigBody = z
  .object({
    name: name.describe('A domain name, such as `transfer.example.com.`'),
    algo: z.string({ error: 'a text' }).describe('Such as `hmac-sha256`'),
    secret: z.string({ error: 'a text' }).describe('Base 64'),
    policies: listOf(policyInput, 0, 50, 'policies')
      .nullish()
      .describe(
        'What the key may change by dynamic update; absent: as before, for a new key nothing. An extension of v4',
      ),
  })
  .meta({
    id: 'TsigKeyBody',
    examples: [
      { name: 'transfer.example.com.', algo: 'hmac-sha256.', secret: 'MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=' },
    ],
  });

export type Tsig = z.output<typeof tsig>;

export const acl = z.object({ id: z.string(), ip_range: z.string(), name: z.string() }).meta({ id: 'TransferAcl' });

export type Acl = z.output<typeof acl>;

export const aclBody = z
  .object({ name, ip_range: z.string({ error: 'a text' }).describe('A network of at most /24, for IPv6 /64') })
  .meta({ id: 'TransferAclBody', examples: [{ name: 'office', ip_range: '192.0.2.53/28' }] });

export const peer = z
  .object({
    id: z.string(),
    name: z.string(),
    ip: z.string().optional(),
    ixfr_enable: z.boolean().describe('Whether incoming transfers may be incremental'),
    port: z.int(),
    tsig_id: z.string().optional(),
    tls_name: z.string().optional(),
    tls_pin: z.string().optional(),
  })
  .meta({ id: 'TransferPeer' });

export type Peer = z.output<typeof peer>;

export const peerBody = z
  .object({
    name,
    ip: z.string({ error: 'a text' }).nullish().describe('Where NOTIFY goes, and from where transfers are requested'),
    port: z.number({ error: 'a number' }).nullish().describe('Default 53'),
    ixfr_enable: z.boolean({ error: 'true or false' }).nullish(),
    tsig_id: z.string({ error: 'a text' }).nullish().describe('The key that signs everything; absent: no key'),
    tls_name: z
      .string({ error: 'a text' })
      .nullish()
      .describe('Transfers from it come over TLS, and its certificate has this name (ours)'),
    tls_pin: z
      .string({ error: 'a text' })
      .nullish()
      .describe('Transfers from it come over TLS, and the SHA-256 hash of its public key is this (ours)'),
  })
  .meta({ id: 'TransferPeerBody', examples: [{ name: 'ns2', ip: '192.0.2.53', port: 53 }] });

export const outgoing = z
  .object({
    id: z.string(),
    checked_time: time.nullable().describe('When a peer was last asked for its serial'),
    created_time: time,
    last_transferred_time: time.nullable(),
    name: z.string(),
    peers: z.array(z.string()),
    soa_serial: z.int(),
  })
  .meta({ id: 'OutgoingTransfers' });

export type Outgoing = z.output<typeof outgoing>;

export const outgoingBody = z
  .object({
    name: name.describe('The name of the zone'),
    peers: z.array(z.string({ error: 'a text' }), { error: 'a list' }).describe('Identifiers of peers'),
  })
  .meta({
    id: 'OutgoingTransfersBody',
    examples: [{ name: 'example.com.', peers: ['023e105f4ecef8ad9ca31a8372d0c353'] }],
  });

export const secondaryBody = z
  .object({
    peer_id: z
      .string({ error: 'a text' })
      .nullish()
      .describe('A peer that exists; the other members are about a new one'),
    name: name.nullish().describe('What you call the server'),
    ip: z.string({ error: 'a text' }).nullish().describe('Where NOTIFY goes, and from where transfers are requested'),
    port: z.number({ error: 'a number' }).nullish().describe('Default 53'),
    signed: z
      .boolean({ error: 'true or false' })
      .nullish()
      .describe(
        'Default true: the first secondary of a zone gets a new TSIG key; further ones have the key of the others',
      ),
  })
  .meta({ id: 'SecondaryBody', examples: [{ name: 'ns2', ip: '192.0.2.53' }] });

export const addedSecondary = z
  .object({
    peer,
    tsig_name: z.string().nullable().describe('Name of the key that signs; null: none'),
    outgoing,
  })
  .meta({ id: 'AddedSecondary' });

export type AddedSecondary = z.output<typeof addedSecondary>;

export const incoming = z
  .object({
    id: z.string(),
    auto_refresh_seconds: z.int().nullable().describe('Null: as the SOA says (ours)'),
    checked_time: time.nullable().describe('When a primary answered last'),
    created_time: time,
    modified_time: time,
    name: z.string(),
    peers: z.array(z.string()),
    soa_serial: z.int().nullable().describe('The serial that was transferred; null: nothing was yet'),
  })
  .meta({ id: 'IncomingTransfers' });

export type Incoming = z.output<typeof incoming>;

export const incomingBody = z
  .object({
    name: name.describe('The name of the zone'),
    peers: z
      .array(z.string({ error: 'a text' }), { error: 'a list' })
      .describe('Identifiers of peers; the first that answers is used'),
    auto_refresh_seconds: z.number({ error: 'a number' }).nullish().describe('At least 300; absent: as the SOA says'),
  })
  .meta({
    id: 'IncomingTransfersBody',
    examples: [{ name: 'example.com.', peers: ['023e105f4ecef8ad9ca31a8372d0c353'], auto_refresh_seconds: 86400 }],
  });

export const incomingStatus = z
  .object({
    id: z.string(),
    state: z.enum(['waiting', 'current', 'failing', 'expired']),
    soa_serial: z.int().nullable(),
    checked_time: time.nullable(),
    last_transferred_time: time.nullable(),
    expires_time: time.nullable().describe('When the copy is answered no more, unless a primary answers before'),
    next_check_time: time.nullable(),
    error: z.string().nullable().describe('Why the last check failed'),
    notice: z.string().nullable().describe('What is remarkable about the copy'),
    primaries: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        ip: z.string().nullable(),
        port: z.int(),
        serial: z.int().nullable(),
        seen_time: time.nullable(),
        error: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'IncomingStatus' });

export type IncomingStatus = z.output<typeof incomingStatus>;

/** Clients send no body or an empty object. */
export const emptyBody = z
  .object({})
  .optional()
  .meta({ id: 'OutgoingAction', examples: [{}] });

export const status = z.enum(['Enabled', 'Disabled']);

export const peerStatus = z
  .object({
    id: z.string(),
    name: z.string(),
    ip: z.string().nullable(),
    port: z.int(),
    serial: z.int().nullable().describe('The serial that it served last; null: not seen yet'),
    in_sync: z.boolean(),
    ahead: z.boolean().describe('It serves a newer version than this server, because older data was copied back here'),
    seen_time: time.nullable(),
    error: z.string().nullable().describe('Why it did not answer when it was asked last'),
  })
  .meta({ id: 'PeerStatus' });

export type PeerStatus = z.output<typeof peerStatus>;
