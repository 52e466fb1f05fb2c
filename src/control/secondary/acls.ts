/** Use cases of the networks from which an account's zones may be transferred (v4: secondary DNS). */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import {
  findTransferAcl,
  insertTransferAcl,
  removeTransferAcl,
  type TransferAclRow,
  transferAclsOfAccount,
  updateTransferAcl,
} from '../../store/secondary/acls.js';
import { parseId, requireAccount } from '../guard/access.js';
import { commit } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { requireRoomFor } from '../rules/quotas.js';
import { secondaryFailure } from './errors.js';
import { readLabel, readRange } from './input.js';

export interface AclItem {
  readonly id: string;
  readonly ip_range: string;
  readonly name: string;
}

export interface AclInput {
  readonly name: string;
  readonly ip_range: string;
}

const MOST_ACLS = 200;

export async function listAcls(ctx: Context, accountId: string): Promise<AclItem[]> {
  return transferAclsOfAccount(ctx.store, requireAccount(ctx, accountId).seq).map(itemOf);
}

export async function getAcl(ctx: Context, accountId: string, id: string): Promise<AclItem> {
  return itemOf(requireAcl(ctx, accountId, id));
}

export async function createAcl(ctx: Context, accountId: string, input: AclInput): Promise<AclItem> {
  const after = readAcl(input);
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    if (transferAclsOfAccount(ctx.store, account.seq).length >= MOST_ACLS) {
      throw secondaryFailure('tooMany', { most: MOST_ACLS, things: 'ACLs' });
    }
    requireRoomFor(ctx, account.seq, 'lists');
    insertTransferAcl(ctx.store, id, account.seq, after, draft.now);
    draft.event({ kind: 'transfer_acl.create', account: account.seq, id, name: after.name, after });
    return { id: toHex(id), ...after };
  });
  return value;
}

export async function replaceAcl(ctx: Context, accountId: string, aclId: string, input: AclInput): Promise<AclItem> {
  const after = readAcl(input);
  const { value } = await commit(ctx, (draft) => {
    const { seq, account, id, name, ip_range } = requireAcl(ctx, accountId, aclId);
    updateTransferAcl(ctx.store, seq, after, draft.now);
    draft.event({ kind: 'transfer_acl.edit', account, id, name: after.name, before: { name, ip_range }, after });
    return { id: aclId, ...after };
  });
  return value;
}

export async function deleteAcl(ctx: Context, accountId: string, aclId: string): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const { seq, account, id, name, ip_range } = requireAcl(ctx, accountId, aclId);
    removeTransferAcl(ctx.store, seq);
    draft.event({ kind: 'transfer_acl.delete', account, id, name, before: { name, ip_range } });
    return { id: toHex(id) };
  });
  return value;
}

function readAcl({ name, ip_range: range }: AclInput): AclInput {
  return { name: readLabel(name), ip_range: readRange(range) };
}

function requireAcl(ctx: Context, accountId: string, aclId: string): TransferAclRow {
  const account = requireAccount(ctx, accountId);
  const id = parseId(aclId);
  const row = id && findTransferAcl(ctx.store, id);
  if (row?.account !== account.seq) throw secondaryFailure('aclMissing', { id: aclId.slice(0, 64) });
  return row;
}

function itemOf({ id, name, ip_range }: TransferAclRow): AclItem {
  return { id: toHex(id), ip_range, name };
}
