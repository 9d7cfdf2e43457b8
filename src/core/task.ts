// What a model does. Each task has endpoints and languages of its own.

export type Task = 'chat' | 'embedding' | 'rerank' | 'transcription' | 'speech'
