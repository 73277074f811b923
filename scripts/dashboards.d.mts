export function text(): string
