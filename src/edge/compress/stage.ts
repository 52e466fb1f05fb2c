/** The stage that compresses what another one answers, where nothing is stored. */
import type { Stage } from '../exchange/exchange.js';
import { CompressingSink } from './compressing-sink.js';
import type { Compression } from './compression.js';

export function createCompressingStage(
  stage: Stage,
  compression: Compression,
  onFault: (error: unknown) => void,
): Stage {
  return (request, route, sink) => {
    if (route.settings.compression !== 'on') return stage(request, route, sink);
    const compressing = new CompressingSink(sink, request, route, compression, onFault);
    const abort = stage(request, route, compressing);
    return () => {
      compressing.drop();
      abort();
    };
  };
}
