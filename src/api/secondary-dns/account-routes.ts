/** `/accounts/{account_id}/secondary_dns/…`: TSIG keys, networks and peers (v4: secondary DNS). */
import { createAcl, deleteAcl, getAcl, listAcls, replaceAcl } from '../../control/secondary/acls.js';
import { createPeer, deletePeer, getPeer, listPeers, replacePeer } from '../../control/secondary/peers.js';
import {
  createTsig,
  deleteTsig,
  getTsig,
  listTsigs,
  replaceTsig,
  type SecondaryServices,
} from '../../control/secondary/tsigs.js';
import { accountResource } from '../routing/resource.js';
import { routes } from '../routing/route.js';
import { acl, aclBody, aclParams, peer, peerBody, peerParams, tsig, tsigBody, tsigParams } from './schema.js';
import { tsigView } from './view.js';

interface RouteOptions {
  readonly services: SecondaryServices;
}

const shared = { isPaged: true, oneCommit: true };

export const secondaryAccountRoutes = routes<RouteOptions>(
  { tags: ['Secondary DNS'], area: 'account' },
  (app, { services }) => {
    accountResource(app, {
      ...shared,
      ...{ path: 'secondary_dns/tsigs', id: 'tsig_id', one: 'a TSIG key', many: 'TSIG keys' },
      ...{ params: tsigParams, item: tsig, body: tsigBody, view: tsigView },
      list: (ctx, account) => listTsigs(ctx, services, account),
      create: (ctx, account, body) => createTsig(ctx, services, account, body),
      get: (ctx, account, id) => getTsig(ctx, services, account, id),
      replace: (ctx, account, id, body) => replaceTsig(ctx, services, account, id, body),
      remove: deleteTsig,
    });
    accountResource(app, {
      ...shared,
      ...{ path: 'secondary_dns/acls', id: 'acl_id', one: 'an ACL', many: 'ACLs' },
      ...{ params: aclParams, item: acl, body: aclBody, view: (item) => item },
      ...{ list: listAcls, create: createAcl, get: getAcl, replace: replaceAcl, remove: deleteAcl },
    });
    accountResource(app, {
      ...shared,
      ...{ path: 'secondary_dns/peers', id: 'peer_id', one: 'a peer', many: 'peers' },
      ...{ params: peerParams, item: peer, body: peerBody, view: (item) => item },
      ...{ list: listPeers, create: createPeer, get: getPeer, replace: replacePeer, remove: deletePeer },
    });
  },
);
