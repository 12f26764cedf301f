// The few things of a browser that sources touch when they are loaded.

globalThis.document ??= { hidden: true, documentElement: { dataset: {} } };
const interval = globalThis.setInterval;
globalThis.setInterval = (...all) => interval(...all).unref();
