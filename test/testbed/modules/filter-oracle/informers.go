package main

import (
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// An informer of objects that nobody watches: what it is told to have it has at once, and its handlers know it.
type kept struct {
	cache.SharedIndexInformer // nil: nothing else of it is asked for
	indexer                   cache.Indexer
	handlers                  []cache.ResourceEventHandler
}

func (k *kept) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	k.handlers = append(k.handlers, handler)
	return nil, nil
}
func (k *kept) AddIndexers(indexers cache.Indexers) error      { return k.indexer.AddIndexers(indexers) }
func (k *kept) GetIndexer() cache.Indexer                      { return k.indexer }
func (k *kept) GetStore() cache.Store                          { return k.indexer }
func (k *kept) SetTransform(handler cache.TransformFunc) error { return nil }

// These and no others.
func have[T runtime.Object](k *kept, objects []T) error {
	for _, one := range k.indexer.List() {
		if err := k.indexer.Delete(one); err != nil {
			return err
		}
		for _, handler := range k.handlers {
			handler.OnDelete(one)
		}
	}
	for _, one := range objects {
		if err := k.indexer.Add(one); err != nil {
			return err
		}
		for _, handler := range k.handlers {
			handler.OnAdd(one, false)
		}
	}
	return nil
}

// The kinds that the filters look up beside nodes and pods, which they take from the snapshot.
type world struct {
	factory informers.SharedInformerFactory

	namespaces, volumes, claims, classes, csiNodes, csiDrivers, capacities, attachments *kept
}

func newWorld(client kubernetes.Interface) *world {
	w := &world{factory: informers.NewSharedInformerFactory(client, 0)}
	w.namespaces = w.keep(&v1.Namespace{})
	w.volumes = w.keep(&v1.PersistentVolume{})
	w.claims = w.keep(&v1.PersistentVolumeClaim{})
	w.classes = w.keep(&storagev1.StorageClass{})
	w.csiNodes = w.keep(&storagev1.CSINode{})
	w.csiDrivers = w.keep(&storagev1.CSIDriver{})
	w.capacities = w.keep(&storagev1.CSIStorageCapacity{})
	w.attachments = w.keep(&storagev1.VolumeAttachment{})
	return w
}

// From then on the factory gives this one to whoever asks for informer or lister of the kind.
func (w *world) keep(kind runtime.Object) *kept {
	made := &kept{indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
	w.factory.InformerFor(kind, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return made })
	return made
}

func (w *world) set(q *question) error {
	for _, err := range []error{
		have(w.namespaces, q.Namespaces), have(w.volumes, q.Volumes), have(w.claims, q.Claims), have(w.classes, q.Classes),
		have(w.csiNodes, q.CSINodes), have(w.csiDrivers, q.CSIDrivers), have(w.capacities, q.Capacities), have(w.attachments, q.Attachments),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}
